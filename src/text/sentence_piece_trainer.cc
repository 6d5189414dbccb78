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

// BPE training keeps positions in 16 bits and ends the process where they don't suffice.
constexpr size_t max_sentence_bytes = 1 << 15;
// The unigram trainer's suffix array has 32-bit indices.
constexpr size_t max_text_bytes = 1u << 31;
// The trainer marks unknown characters with it, so it skips sentences that contain it.
constexpr std::string_view reserved_character = "\u2585";

bool usable(const std::string& sentence) {
  return sentence.size() <= max_sentence_bytes && sentence.find(reserved_character) == sentence.npos &&
         has_visible_character(sentence);
}

// At most `most` usable sentences (0 for all), evenly spread over the texts. Of a text, twice as many are held
// at a time: then every other one is let go, and of what follows one for each that was.
std::vector<std::string> choose_sentences(const std::vector<TextReader>& texts, size_t most) {
  std::vector<std::string> all;
  for (const TextReader& text : texts) {
    std::vector<std::string> kept;
    size_t stride = 1, seen = 0;
    text([&](const std::string& sentence) {
      if (!usable(sentence) || seen++ % stride != 0) return;
      kept.push_back(sentence);
      if (most == 0 || kept.size() < 2 * most) return;
      for (size_t i = 0; i < most; ++i) kept[i] = std::move(kept[2 * i]);
      kept.resize(most);
      stride *= 2;
    });
    std::move(kept.begin(), kept.end(), std::back_inserter(all));
  }
  if (most == 0 || all.size() <= most) return all;
  for (size_t i = 1; i < most; ++i) all[i] = std::move(all[i * all.size() / most]);
  all.resize(most);
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

// Values stand in quotes, and a quote within is doubled.
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
      {"num_threads", "16"},  // part of the result: each thread's sums are added in order
      {"minloglevel", "2"},
  };
  if (!options.user_defined_symbols.empty())
    arguments["user_defined_symbols"] = comma_separated(options.user_defined_symbols);
  return arguments;
}

// What the library says, without the file and condition that it puts first: "src/x.cc(1) [a <= b] reason".
std::string reason_of(const sentencepiece::util::Status& status) {
  const std::string message = status.ToString();
  const size_t end = message.rfind("] ");
  return end == message.npos ? message : message.substr(end + 2);
}

/// The library starts threads of its own and doesn't look whether it may.
sentencepiece::util::Status train(const TokenizerOptions& options, Normalization normalization,
                                  const std::vector<std::string>& chosen, std::string& model) {
  try {
    Sentences sentences(chosen);
    return sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options, normalization), &sentences,
                                                      &model);
  } catch (const std::system_error& refusal) {
    throw_environment_error(
        "the system refuses the threads that SentencePiece trains the tokenizer with ({}); raise its limits "
        "(ulimit -u, ulimit -v), or give a trained tokenizer (tokenizer.source)",
        refusal.code().message());
  }
}

}  // namespace

std::string train_sentence_piece(const TokenizerOptions& options, Normalization normalization,
                                 const std::vector<TextReader>& texts) {
  require(options.vocab_size > 3 && options.vocab_size <= 1'000'000,
          "tokenizer.vocab_size is {}: a SentencePiece vocabulary has from 4 to 1,000,000 pieces",
          options.vocab_size);
  const auto chosen = choose_sentences(texts, options.max_sentences);
  require(!chosen.empty(),
          "there is no text to train the tokenizer on: no line of at most {} bytes has a visible character",
          max_sentence_bytes);
  size_t bytes = 0;
  for (const std::string& sentence : chosen) bytes += sentence.size();
  require(bytes < max_text_bytes,
          "the text to train the tokenizer on has {} bytes, more than SentencePiece can hold; "
          "set tokenizer.max_sentences to less than {}",
          bytes, chosen.size());

  std::string model;
  const auto status = train(options, normalization, chosen, model);
  require(status.ok(),
          "SentencePiece can't train a vocabulary of {} pieces on this text (see tokenizer.vocab_size and "
          "tokenizer.character_coverage): {}",
          options.vocab_size, reason_of(status));
  const int size = load_sentence_piece(model, "the trained tokenizer", Spaces::as_trained)->vocab_size();
  if (size < options.vocab_size)
    log_warning("the text gives only {} of the {} pieces that tokenizer.vocab_size asks for", size,
                options.vocab_size);
  return model;
}

}  // namespace sixfold
