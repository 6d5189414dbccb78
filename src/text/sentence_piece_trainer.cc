#include <sentencepiece_trainer.h>

#include <algorithm>
#include <system_error>
#include <unordered_map>

#include "base/error.h"
#include "base/log.h"
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

// Keeps `most` of the sentences (at least 1), evenly spread.
void keep_evenly(std::vector<std::string>& sentences, size_t most) {
  if (sentences.size() <= most) return;
  for (size_t i = 1; i < most; ++i) sentences[i].swap(sentences[i * sentences.size() / most]);
  sentences.resize(most);
}

// Samples at most `most` usable sentences (0: all), evenly spread over the texts. Parts of long ones count as
// sentences. Of each text, at most twice as many are held in memory: when there are that many, every other one
// is dropped, and the sampling interval is doubled.
std::vector<std::string> choose_sentences(const std::vector<TextReader>& texts, size_t most) {
  std::vector<std::string> all;
  for (const TextReader& text : texts) {
    std::vector<std::string> kept;
    size_t stride = 1, seen = 0;
    const auto choose = [&](std::string_view sentence) {
      if (!usable(sentence) || seen++ % stride != 0) return;
      kept.emplace_back(sentence);
      if (most == 0 || kept.size() < 2 * most) return;
      keep_evenly(kept, most);
      stride *= 2;
    };
    text([&](const std::string& sentence) { for_each_part(sentence, choose); });
    std::move(kept.begin(), kept.end(), std::back_inserter(all));
  }
  if (most > 0) keep_evenly(all, most);
  return all;
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

std::unordered_map<std::string, std::string> trainer_arguments(const TokenizerOptions& options,
                                                               Normalization normalization) {
  std::unordered_map<std::string, std::string> arguments = {
      {"model_type", std::string(name_of_enum(options.model))},
      {"vocab_size", fmt::format("{}", options.vocab_size)},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"normalization_rule_name", std::string(name_of_enum(normalization))},
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
sentencepiece::util::Status train(const TokenizerOptions& options, Normalization normalization,
                                  const std::vector<std::string>& chosen, std::string& model) {
  try {
    Sentences sentences(chosen);
    return sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options, normalization), &sentences,
                                                      &model);
  } catch (const std::system_error& refusal) {
    throw_environment_error(
        "the system can't start the threads that SentencePiece needs to train the tokenizer ({}); raise the "
        "limits (ulimit -u, ulimit -v), or give a trained tokenizer (tokenizer.source)",
        refusal.code().message());
  }
}

}  // namespace

std::string train_sentence_piece(const TokenizerOptions& options, Normalization normalization,
                                 const std::vector<TextReader>& texts) {
  require(options.vocab_size > 3 && options.vocab_size <= 1'000'000,
          "tokenizer.vocab_size is {}; it must be from 4 to 1,000,000 for SentencePiece", options.vocab_size);
  const auto chosen = choose_sentences(texts, options.max_sentences);
  require(!chosen.empty(),
          "data.train: there is no text to train the tokenizer on: no line has a visible character");
  size_t bytes = 0;
  for (const std::string& sentence : chosen) bytes += sentence.size();
  require(bytes < max_text_bytes,
          "the text to train the tokenizer on has {} bytes, more than SentencePiece can process; "
          "set tokenizer.max_sentences to less than {}",
          bytes, chosen.size());

  std::string model;
  const auto status = train(options, normalization, chosen, model);
  require(status.ok(),
          "SentencePiece can't train a vocabulary of {} tokens on this text (see tokenizer.vocab_size and "
          "tokenizer.character_coverage): {}",
          options.vocab_size, reason_of(status));
  const int size = load_sentence_piece(model, "the trained tokenizer", Spaces::as_trained)->vocab_size();
  if (size < options.vocab_size)
    log_warning("the text has only {} of the {} tokens that tokenizer.vocab_size asks for", size,
                options.vocab_size);
  return model;
}

}  // namespace sixfold
