#include "text/subword_trainer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <unordered_map>

#include "base/error.h"
#include "base/log.h"
#include "text/json/normalizers.h"
#include "text/json/pre_tokenizers.h"
#include "text/json/subword_models.h"
#include "text/json/unicode_rules.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

using nlohmann::ordered_json;
using Words = std::map<std::string, int64_t>;

constexpr std::string_view unit_prefix = "##";  // of WordPiece's tokens within a word
constexpr std::string_view reserved[] = {"<unk>", "<s>", "</s>"};

/// The tokenizer.json of a kind of tokenizer, without its vocabulary.
ordered_json file_without_vocabulary(const TokenizerOptions& options) {
  ordered_json file{{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  file["added_tokens"] = ordered_json::array();
  for (size_t id = 0; id < std::size(reserved); ++id)
    file["added_tokens"].push_back({{"id", id},
                                    {"content", reserved[id]},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  if (options.kind == TokenizerKind::wordpiece) {
    file["normalizer"] = {{"type", "BertNormalizer"},
                          {"clean_text", true},
                          {"handle_chinese_chars", true},
                          {"strip_accents", nullptr},
                          {"lowercase", options.lower_case}};
    file["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
    file["post_processor"] = nullptr;
    file["decoder"] = {{"type", "WordPiece"}, {"prefix", unit_prefix}, {"cleanup", true}};
    file["model"] = {{"type", "WordPiece"},
                     {"unk_token", reserved[0]},
                     {"continuing_subword_prefix", unit_prefix},
                     {"max_input_chars_per_word", 100}};
    return file;
  }
  const ordered_json byte_level{
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = byte_level;
  file["post_processor"] = nullptr;
  file["decoder"] = byte_level;
  file["model"] = {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", false}};
  return file;
}

/// Counts the words into which a tokenizer.json splits texts. Very long words are cut.
class WordCounter {
 public:
  explicit WordCounter(const ordered_json& file) : file_(nlohmann::json::parse(file.dump())) {
    const JsonStage stage(file_, "the new tokenizer");
    if (stage.has("normalizer")) normalizer_ = make_normalizer(stage.part("normalizer"));
    pre_tokenizer_ = make_pre_tokenizer(stage.part("pre_tokenizer"));
  }

  /// Reads at most `max_lines` lines of all texts together, evenly spread; 0: all.
  Words count(const std::vector<TextReader>& texts, int64_t max_lines) {
    int64_t lines = 0, line = 0;
    if (max_lines > 0)
      for (const TextReader& text : texts) text([&](const std::string&) { ++lines; });
    const double step =
        max_lines > 0 && lines > max_lines ? static_cast<double>(max_lines) / static_cast<double>(lines) : 1;
    for (const TextReader& text : texts)
      text([&](const std::string& sentence) {
        const auto place = static_cast<double>(line++);
        if (step == 1 || static_cast<int64_t>(place * step) < static_cast<int64_t>((place + 1) * step))
          add(sentence);
      });
    return std::move(words_);
  }

 private:
  void add(const std::string& sentence) {
    constexpr size_t longest = 100;  // bytes of a word that is learned from as a whole
    if (sentence.empty()) return;
    SplitText split{{first_invalid_utf8(sentence) ? replace_invalid_utf8(sentence) : sentence, {}}, {}, true};
    if (normalizer_) normalizer_->apply(split.text);
    if (split.text.text.empty()) return;
    split.words = {{0, split.text.text.size()}};
    pre_tokenizer_->apply(split);
    for (const auto& [begin, end] : split.words)
      for (size_t at = begin, next = 0; at < end; at = next) {
        next = std::min(end, at + longest);
        while (next < end && (static_cast<unsigned char>(split.text.text[next]) & 0xC0) == 0x80) --next;
        ++words_[split.text.text.substr(at, next - at)];
      }
  }

  nlohmann::json file_;
  std::unique_ptr<const TextNormalizer> normalizer_;
  std::unique_ptr<const PreTokenizer> pre_tokenizer_;
  Words words_;
};

/// Merges the most frequent pairs of tokens of words.
class PairTrainer {
 public:
  /// The words consist of `tokens`; `prefix` begins tokens within words.
  PairTrainer(std::vector<std::string> tokens, std::string_view prefix)
      : tokens_(std::move(tokens)), prefix_(prefix) {
    for (size_t id = 0; id < tokens_.size(); ++id) ids_[tokens_[id]] = static_cast<int32_t>(id);
  }

  /// Adds a word, by the ids of its tokens.
  void add(std::vector<int32_t> word, int64_t count) {
    words_.push_back({std::move(word), count});
    change_counts(words_.size() - 1, 1, any_token);
  }

  /// Merges until there are `max_tokens` tokens, or no pair occurs `min_count` times.
  void run(size_t max_tokens, int64_t min_count) {
    while (tokens_.size() < max_tokens && !queue_.empty()) {
      const Entry best = queue_.top();
      queue_.pop();
      Pair& pair = pairs_[best.pair];
      if (pair.count != best.count) {
        if (pair.count > 0 && pair.count < best.count) queue_.push({pair.count, best.pair});
        continue;
      }
      if (best.count < min_count) break;
      // Text never becomes a special token, even if that is written in it.
      const std::string text = merged_text(left_of(best.pair), right_of(best.pair));
      if (std::ranges::find(reserved, text) == std::end(reserved))
        merge(best.pair, text, std::move(pair.words));
    }
  }

  /// Queues the pairs of the words that were added.
  void queue_changed() {
    std::ranges::sort(changed_);
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const uint64_t key : changed_)
      if (const int64_t count = pairs_[key].count; count > 0) queue_.push({count, key});
    changed_.clear();
  }

  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::vector<std::pair<int32_t, int32_t>>& merges() const { return merges_; }

 private:
  struct Word {
    std::vector<int32_t> tokens;
    int64_t count;
  };
  struct Pair {
    int64_t count = 0;
    std::vector<size_t> words;  // that have it, or had it
  };
  struct Entry {
    int64_t count;
    uint64_t pair;
    bool operator<(const Entry& other) const {  // the largest of a queue comes first
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }

  static constexpr int32_t any_token = -1;

  /// Adds the pairs of a word to the counts, or subtracts them if `sign` is -1. Only pairs with the token
  /// `grown` can become more frequent. The count of an entry of the queue may be too large, but no pair is
  /// missing from the queue.
  void change_counts(size_t number, int64_t sign, int32_t grown) {
    const Word& word = words_[number];
    for (size_t i = 0; i + 1 < word.tokens.size(); ++i) {
      const uint64_t key = key_of(word.tokens[i], word.tokens[i + 1]);
      Pair& pair = pairs_[key];
      pair.count += sign * word.count;
      if (sign < 0 || (grown != any_token && word.tokens[i] != grown && word.tokens[i + 1] != grown)) continue;
      if (pair.words.empty() || pair.words.back() != number) pair.words.push_back(number);
      changed_.push_back(key);
    }
  }

  static int32_t left_of(uint64_t key) { return static_cast<int32_t>(key >> 32); }
  static int32_t right_of(uint64_t key) { return static_cast<int32_t>(key & 0xFFFFFFFF); }

  void merge(uint64_t key, const std::string& text, std::vector<size_t> words) {
    const int32_t left = left_of(key), right = right_of(key);
    const auto [known, is_new] = ids_.emplace(text, static_cast<int32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(text);
    const int32_t merged = known->second;
    merges_.emplace_back(left, right);
    changed_.clear();
    for (const size_t number : words) {
      std::vector<int32_t>& tokens = words_[number].tokens;
      change_counts(number, -1, merged);
      size_t end = 0;
      for (size_t i = 0; i < tokens.size(); ++i) {
        const bool here = tokens[i] == left && i + 1 < tokens.size() && tokens[i + 1] == right;
        tokens[end++] = here ? merged : tokens[i];
        i += here;
      }
      tokens.resize(end);
      change_counts(number, 1, merged);
    }
    queue_changed();
  }

  std::string merged_text(int32_t left, int32_t right) const {
    return tokens_[static_cast<size_t>(left)] + tokens_[static_cast<size_t>(right)].substr(prefix_.size());
  }

  std::vector<std::string> tokens_;
  std::string_view prefix_;
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<Word> words_;
  std::unordered_map<uint64_t, Pair> pairs_;
  std::vector<uint64_t> changed_;  // pairs whose count may have grown
  std::priority_queue<Entry> queue_;
  std::vector<std::pair<int32_t, int32_t>> merges_;
};

std::vector<std::string> reserved_tokens_of() { return {std::begin(reserved), std::end(reserved)}; }

/// The size of the vocabulary in the options. Throws unless it has room for `required` tokens: the special ones
/// and `what`.
size_t max_tokens_of(const TokenizerOptions& options, size_t required, const char* what) {
  const size_t max_tokens = options.vocab_size == 0 ? SIZE_MAX : static_cast<size_t>(options.vocab_size);
  require(max_tokens >= required,
          "tokenizer.vocab_size is {}, but there are already 3 special tokens and {}; set it to {} or more",
          max_tokens, what, required);
  return max_tokens;
}

Words words_of(const ordered_json& file, const TokenizerOptions& options,
               const std::vector<TextReader>& texts) {
  Words words = WordCounter(file).count(texts, options.max_sentences);
  require(!words.empty(), "data.train: there is no text to train a tokenizer on");
  return words;
}

/// Runs a trainer to which all words have been added.
void run(PairTrainer& trainer, size_t max_tokens, const TokenizerOptions& options) {
  trainer.queue_changed();
  trainer.run(max_tokens, std::max<int64_t>(1, options.minimum_count));
  if (options.vocab_size > 0 && trainer.tokens().size() < max_tokens)
    log_warning("the text has only {} of the {} tokens that tokenizer.vocab_size asks for",
                trainer.tokens().size(), max_tokens);
}

/// The texts of tokens, which differ, with their ids.
template <class TextOf>
ordered_json vocabulary_of(size_t size, TextOf text_of) {
  ordered_json::object_t vocabulary;  // a list of pairs, in which operator[] would search
  for (size_t id = 0; id < size; ++id) vocabulary.emplace_back(text_of(id), id);
  return vocabulary;
}

/// The characters of the words that the vocabulary keeps, in ascending order: the most frequent ones.
std::vector<std::string> kept_characters(const Words& words, const TokenizerOptions& options,
                                         size_t max_characters) {
  std::map<std::string, int64_t> counts;
  for (const auto& [word, count] : words)
    for (size_t begin = 0, end = 0; begin < word.size(); begin = end) {
      next_character(word, end);
      counts[word.substr(begin, end - begin)] += count;
    }
  std::vector<std::pair<int64_t, std::string>> ranked;
  for (const auto& [character, count] : counts)
    if (count >= options.minimum_count) ranked.emplace_back(-count, character);
  std::ranges::sort(ranked);
  if (ranked.size() > max_characters) {
    log_warning(
        "the text has {} characters, but tokenizer.vocab_size keeps only {}; words with the others become "
        "<unk>",
        ranked.size(), max_characters);
    ranked.resize(max_characters);
  }
  std::vector<std::string> kept;
  for (const auto& [rank, character] : ranked) kept.push_back(character);
  std::ranges::sort(kept);
  return kept;
}

}  // namespace

std::string train_byte_pairs(const TokenizerOptions& options, const std::vector<TextReader>& texts) {
  ordered_json file = file_without_vocabulary(options);
  constexpr auto first_byte = static_cast<int32_t>(std::size(reserved));
  const size_t max_tokens = max_tokens_of(options, first_byte + 256, "256 bytes");
  std::vector<std::string> tokens = reserved_tokens_of();
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  PairTrainer trainer(std::move(tokens), "");
  for (const auto& [word, count] : words_of(file, options, texts)) {
    std::vector<int32_t> ids;
    for (const char byte : word) ids.push_back(first_byte + static_cast<unsigned char>(byte));
    trainer.add(std::move(ids), count);
  }
  run(trainer, max_tokens, options);
  const auto text_of = [&](size_t id) {
    const std::string& token = trainer.tokens()[id];
    return id < std::size(reserved) ? token : characters_of_bytes(token);
  };
  ordered_json& model = file["model"];
  model["vocab"] = vocabulary_of(trainer.tokens().size(), text_of);
  model["merges"] = ordered_json::array();
  for (const auto& [left, right] : trainer.merges())
    model["merges"].push_back({text_of(static_cast<size_t>(left)), text_of(static_cast<size_t>(right))});
  return file.dump(2) + "\n";
}

std::string train_word_pieces(const TokenizerOptions& options, const std::vector<TextReader>& texts) {
  ordered_json file = file_without_vocabulary(options);
  std::vector<std::string> tokens = reserved_tokens_of();
  const size_t max_tokens = max_tokens_of(options, tokens.size() + 2, "a character");
  const Words words = words_of(file, options, texts);
  std::unordered_map<std::string, int32_t> first, within;  // the tokens of characters
  for (const std::string& character : kept_characters(words, options, (max_tokens - tokens.size()) / 2)) {
    first[character] = static_cast<int32_t>(tokens.size());
    tokens.push_back(character);
    within[character] = static_cast<int32_t>(tokens.size());
    tokens.push_back(std::string(unit_prefix) + character);
  }
  PairTrainer trainer(std::move(tokens), unit_prefix);
  for (const auto& [word, count] : words) {
    std::vector<int32_t> ids;
    bool known = true;
    for (size_t begin = 0, end = 0; known && begin < word.size(); begin = end) {
      next_character(word, end);
      const auto& characters = begin == 0 ? first : within;
      const auto found = characters.find(word.substr(begin, end - begin));
      known = found != characters.end();
      if (known) ids.push_back(found->second);
    }
    if (known) trainer.add(std::move(ids), count);
  }
  run(trainer, max_tokens, options);
  file["model"]["vocab"] =
      vocabulary_of(trainer.tokens().size(), [&](size_t id) { return trainer.tokens()[id]; });
  return file.dump(2) + "\n";
}

}  // namespace sixfold
