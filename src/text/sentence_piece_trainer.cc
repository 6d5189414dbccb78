#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <memory>
#include <system_error>
#include <unordered_map>

#include "base/error.h"
#include "base/log.h"
#include "base/protobuf.h"
#include "text/sentence_piece.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

// BPE training stores positions in 16 bits and aborts the process if a sentence is longer.
constexpr size_t max_sentence_bytes = 1 << 15;
// The unigram trainer's suffix array has 32-bit indices.
constexpr size_t max_text_bytes = 1u << 31;
// The trainer's marker for unknown characters; it skips sentences that contain it.
constexpr std::string_view reserved_character = "\u2585";

bool usable(std::string_view sentence) {
  return sentence.find(reserved_character) == sentence.npos && has_visible_character(sentence);
}

// The bytes of the first part of a sentence that is longer than the trainer takes: up to the last space that
// fits, or to the last character if there is none.
size_t first_part(std::string_view sentence) {
  const size_t space = sentence.substr(0, max_sentence_bytes + 1).find_last_of(" \t");
  if (space != sentence.npos && space > 0) return space;
  size_t end = max_sentence_bytes;
  for (int i = 0; i < 3 && (static_cast<uint8_t>(sentence[end]) & 0xC0) == 0x80; ++i) --end;
  return end;
}

// Calls `function` with the parts of a sentence, each short enough for the trainer. Most sentences have one.
template <class Function>
void for_each_part(std::string_view sentence, const Function& function) {
  while (sentence.size() > max_sentence_bytes) {
    const size_t end = first_part(sentence);
    function(sentence.substr(0, end));
    sentence.remove_prefix(end);
  }
  function(sentence);
}

// Keeps `max_sentences` of the sentences (at least 1), evenly spread.
void keep_evenly(std::vector<std::string>& sentences, size_t max_sentences) {
  if (sentences.size() <= max_sentences) return;
  for (size_t i = 1; i < max_sentences; ++i) sentences[i].swap(sentences[i * sentences.size() / max_sentences]);
  sentences.resize(max_sentences);
}

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::string>& sentences)
      : next_(sentences.data()), end_(next_ + sentences.size()) {}
  bool done() const override { return next_ == end_; }
  void Next() override { ++next_; }
  const std::string& value() const override { return *next_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::string* next_;
  const std::string* end_;
};

// Values are quoted, and quotes inside them doubled.
std::string comma_separated(const std::vector<std::string>& symbols) {
  std::string list;
  for (const std::string& symbol : symbols) {
    list += list.empty() ? "\"" : ",\"";
    for (const char c : symbol) list += c == '"' ? "\"\"" : std::string(1, c);
    list += '"';
  }
  return list;
}

using Arguments = std::unordered_map<std::string, std::string>;

/// The arguments of a trainer that does not normalize.
Arguments trainer_arguments(const TokenizerOptions& options) {
  Arguments arguments = {
      {"model_type", std::string(name_of_enum(options.model))},
      {"vocab_size", fmt::format("{}", options.vocab_size)},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"normalization_rule_name", "identity"},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"max_sentence_length", fmt::format("{}", max_sentence_bytes)},
      {"hard_vocab_limit", "false"},
      {"num_threads", "16"},  // affects the result: the sums of the threads are added in order
      {"minloglevel", "2"},
  };
  if (!options.user_defined_symbols.empty())
    arguments["user_defined_symbols"] = comma_separated(options.user_defined_symbols);
  return arguments;
}

// The reason in a message of the library, which has the form "src/x.cc(1) [a <= b] reason", without advice
// about the options of its own programs.
std::string reason_of(const sentencepiece::util::Status& status) {
  const std::string message = status.ToString();
  const size_t end = message.rfind("] ");
  const std::string reason = end == message.npos ? message : message.substr(end + 2);
  return reason.substr(0, reason.find(" Increase vocab_size"));
}

/// Throws if the system can't start the threads that the library needs; the library does not check that itself.
std::string train(const Arguments& arguments, const std::vector<std::string>& chosen) {
  try {
    Sentences sentences(chosen);
    std::string model;
    const auto status = sentencepiece::SentencePieceTrainer::Train(arguments, &sentences, &model);
    require(status.ok(),
            "SentencePiece can't train a vocabulary of {} tokens on this text (see tokenizer.vocab_size and "
            "tokenizer.character_coverage): {}",
            arguments.at("vocab_size"), reason_of(status));
    return model;
  } catch (const std::system_error& refusal) {
    throw_environment_error(
        "the system can't start the threads that SentencePiece needs to train the tokenizer ({}); raise the "
        "limits (ulimit -u, ulimit -v), or give a trained tokenizer (tokenizer.source)",
        refusal.code().message());
  }
}

/// One of SentencePiece's normalizations, apart from a model: what a model of single characters, all of which
/// are unknown to it, makes of a text. User-defined symbols are not changed.
class Normalizer {
 public:
  Normalizer(const TokenizerOptions& options, Normalization normalization) {
    if (normalization == Normalization::identity) return;
    Arguments arguments = trainer_arguments(options);
    arguments["model_type"] = "char";
    arguments["byte_fallback"] = "false";
    arguments["vocab_size"] = fmt::format("{}", options.user_defined_symbols.size() + 10);
    arguments["add_dummy_prefix"] = "false";
    arguments["normalization_rule_name"] = name_of_enum(normalization);
    const std::string model = train(arguments, {"-"});
    for (std::string_view rest = model; const auto field = protobuf::take_field(rest);)
      if (field->number == normalizer_field) read_spec(field->bytes);
    library_ = std::make_unique<sentencepiece::SentencePieceProcessor>();
    const auto status = library_->LoadFromSerializedProto(model);
    require(status.ok(), "SentencePiece: {}", status.ToString());
  }

  std::string operator()(std::string text) const {
    if (!library_) return text;
    std::vector<std::string> pieces;
    const auto status = library_->Encode(text, &pieces);
    require(status.ok(), "SentencePiece: {}", status.ToString());
    text.clear();
    for (const std::string& piece : pieces) text += piece;
    return without_space_marks(text);
  }

  /// The bytes of `model` with this normalization.
  std::string put_into(std::string_view model) const {
    if (!library_) return std::string(model);
    std::string result;
    for (std::string_view rest = model; !rest.empty();) {
      const std::string_view before = rest;
      const auto field = protobuf::take_field(rest);
      if (field->number == normalizer_field)
        result += protobuf::bytes_field(normalizer_field, std::string(field->bytes) + spec_);
      else
        result += before.substr(0, before.size() - rest.size());
    }
    return result;
  }

 private:
  static constexpr uint64_t normalizer_field = 3, name_field = 1, table_field = 2;

  void read_spec(std::string_view message) {
    while (const auto field = protobuf::take_field(message))
      if (field->number == name_field || field->number == table_field)
        spec_ += protobuf::bytes_field(field->number, field->bytes);
  }

  std::unique_ptr<sentencepiece::SentencePieceProcessor> library_;
  std::string spec_;
};

// Samples at most `max_sentences` usable sentences (0: all), evenly spread over the texts, and normalizes them.
// Parts of long ones count as sentences. Of each text, at most twice as many are held in memory: when there are
// that many, every other one is dropped, and the sampling interval is doubled.
std::vector<std::string> choose_sentences(const TokenizerOptions& options,
                                          const std::vector<TrainingText>& texts) {
  const auto max_sentences = static_cast<size_t>(options.max_sentences);
  std::vector<std::string> all;
  for (const TrainingText& text : texts) {
    std::vector<std::string> kept;
    size_t stride = 1, seen = 0;
    const auto choose = [&](std::string_view sentence) {
      if (!usable(sentence) || seen++ % stride != 0) return;
      kept.emplace_back(sentence);
      if (max_sentences == 0 || kept.size() < 2 * max_sentences) return;
      keep_evenly(kept, max_sentences);
      stride *= 2;
    };
    text.sentences([&](const std::string& sentence) { for_each_part(sentence, choose); });
    const Normalizer normalized(options, text.normalization);
    for (const std::string& sentence : kept)
      for_each_part(normalized(read_text(sentence, text.side)), [&](std::string_view part) {
        if (usable(part)) all.emplace_back(part);
      });
  }
  if (max_sentences > 0) keep_evenly(all, max_sentences);
  return all;
}

}  // namespace

std::string train_sentence_piece(const TokenizerOptions& options, const std::vector<TrainingText>& texts) {
  const auto chosen = choose_sentences(options, texts);
  require(!chosen.empty(),
          "data.train: there is no text to train the tokenizer on: no line has a visible character");
  size_t bytes = 0;
  for (const std::string& sentence : chosen) bytes += sentence.size();
  require(bytes < max_text_bytes,
          "the text to train the tokenizer on has {} bytes, more than SentencePiece can process; "
          "set tokenizer.max_sentences to less than {}",
          bytes, chosen.size());

  std::string model =
      Normalizer(options, texts.front().normalization).put_into(train(trainer_arguments(options), chosen));
  if (texts.back().normalization != texts.front().normalization) model = mark_plain_targets(model);
  const int size = load_sentence_piece(model, "the trained tokenizer", TextSide::source)->vocab_size();
  if (size < options.vocab_size)
    log_warning("the text has only {} of the {} tokens that tokenizer.vocab_size asks for", size,
                options.vocab_size);
  return model;
}

}  // namespace sixfold
