#include "text/whitespace.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/error.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

constexpr std::string_view separators = " \t\n\v\f\r";
constexpr std::string_view mark_before_word = "\u2581";  // SentencePiece's sign for the space before a word
constexpr std::string_view join_mark = "@@";
constexpr std::array<std::string_view, 3> reserved_tokens = {"<unk>", "<s>", "</s>"};

template <class Function>
void for_each_token(std::string_view text, Function function) {
  for (size_t begin = 0; (begin = text.find_first_not_of(separators, begin)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    function(text.substr(begin, end - begin));
    begin = end;
  }
}

/// Joins tokens to text.
class Joiner {
 public:
  explicit Joiner(bool marks_words) : marks_words_(marks_words) {}

  void add(std::string_view token) {
    if (marks_words_) {
      const bool begins = token.starts_with(mark_before_word);
      if (begins) token.remove_prefix(mark_before_word.size());
      if (begins && !text_.empty()) text_ += ' ';
    } else {
      if (!joined_) text_ += ' ';
      joined_ = token.ends_with(join_mark);
      if (joined_) token.remove_suffix(join_mark.size());
    }
    text_ += token;
  }
  std::string take() { return std::move(text_); }

 private:
  bool marks_words_;
  bool joined_ = true;  // to the next token
  std::string text_;
};

class WhitespaceTokenizer : public Tokenizer {
 public:
  WhitespaceTokenizer(std::string_view vocabulary, const std::string& origin) {
    if (constexpr std::string_view byte_order_mark = "\uFEFF"; vocabulary.starts_with(byte_order_mark))
      vocabulary.remove_prefix(byte_order_mark.size());
    while (!vocabulary.empty()) {
      const size_t end = std::min(vocabulary.find('\n'), vocabulary.size());
      std::string_view line = vocabulary.substr(0, end);
      vocabulary.remove_prefix(std::min(end + 1, vocabulary.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      add(std::string(line), origin);
    }
    unk_ = special("<unk>", origin);
    bos_ = ids_.contains("<s>") ? ids_.at("<s>") : -1;
    eos_ = special("</s>", origin);
    for (const std::string_view token : reserved_tokens) ids_.erase(std::string(token));
    marks_words_ = has_word_marks();
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    for_each_token(text, [&](std::string_view token) {
      ids.push_back(id_of(first_invalid_utf8(token) ? replace_invalid_utf8(token) : std::string(token)));
    });
    return ids;
  }

  std::vector<LocatedToken> locate_tokens(std::string_view text) const override {
    std::vector<LocatedToken> tokens;
    for_each_token(text, [&](std::string_view token) {
      const auto begin = static_cast<size_t>(token.data() - text.data());
      tokens.push_back({id_of(std::string(token)), begin, begin + token.size()});
    });
    return tokens;
  }

  std::string decode_tokens(std::span<const int32_t> ids, const std::string* unknown) const override {
    Joiner text(marks_words_);
    const bool begins_words = marks_words_ && !ids_.contains(std::string(mark_before_word));
    const std::string word = std::string(begins_words ? mark_before_word : "") + (unknown ? *unknown : "");
    for (const int32_t id : ids) {
      const std::string& token = unknown && id == unk_ ? word : at(id);
      if (id != bos_ && id != eos_) text.add(token);
    }
    return text.take();
  }

  std::string join(std::string_view line) const override {
    Joiner text(marks_words_);
    for_each_token(line, [&](std::string_view token) { text.add(token); });
    return text.take();
  }

  bool word_goes_on(int32_t id) const override { return !marks_words_ && at(id).ends_with(join_mark); }

  int vocab_size() const override { return static_cast<int>(tokens_.size()); }
  std::string token_text(int32_t id) const override { return at(id); }
  TokenizerKind kind() const override { return TokenizerKind::whitespace; }
  const std::string& serialized() const override { return serialized_; }

 private:
  int32_t id_of(const std::string& token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? unk_ : found->second;
  }
  void add(std::string token, const std::string& origin) {
    const size_t line = tokens_.size() + 1;
    require(!token.empty() && token.find_first_of(separators) == token.npos,
            "{}:{}: a vocabulary has one token on each line, without spaces", origin, line);
    require(!first_invalid_utf8(token), "{}:{}: the token is not valid UTF-8", origin, line);
    require(ids_.emplace(token, static_cast<int32_t>(tokens_.size())).second,
            "{}:{}: '{}' is listed twice; remove one", origin, line, token);
    serialized_ += token + '\n';
    tokens_.push_back(std::move(token));
  }

  int32_t special(const std::string& token, const std::string& origin) const {
    const auto found = ids_.find(token);
    require(found != ids_.end(), "{}: the vocabulary lacks {}; add <unk> and </s> on separate lines", origin,
            token);
    return found->second;
  }

  // One or two stray marks must not join the words of an ordinary vocabulary.
  bool has_word_marks() const {
    const auto count = [&](auto predicate) { return std::count_if(tokens_.begin(), tokens_.end(), predicate); };
    const auto marked = count([](const std::string& token) { return token.starts_with(mark_before_word); });
    const auto joined = count([](const std::string& token) { return token.ends_with(join_mark); });
    return marked > joined && 100 * marked >= vocab_size();
  }

  const std::string& at(int32_t id) const {
    require(id >= 0 && id < vocab_size(), "id {} is outside the vocabulary, which has {} tokens", id,
            vocab_size());
    return tokens_[id];
  }

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> ids_;  ///< without the special tokens, which text can't contain
  std::string serialized_;
  bool marks_words_ = false;
};

}  // namespace

std::shared_ptr<const Tokenizer> load_whitespace(std::string_view vocabulary, const std::string& origin) {
  return std::make_shared<WhitespaceTokenizer>(vocabulary, origin);
}

std::string build_whitespace_vocabulary(const TokenizerOptions& options, const std::vector<TextReader>& texts) {
  std::unordered_map<std::string, int64_t> counts;
  for (const TextReader& text : texts)
    text([&](const std::string& sentence) {
      for_each_token(sentence, [&](std::string_view token) { ++counts[std::string(token)]; });
    });
  require(!counts.empty(), "data.train: there is no text to build a vocabulary from");

  std::vector<std::string> tokens(reserved_tokens.begin(), reserved_tokens.end());
  tokens.insert(tokens.end(), options.user_defined_symbols.begin(), options.user_defined_symbols.end());
  const size_t max_vocabulary = options.vocab_size == 0 ? tokens.size() + counts.size() : options.vocab_size;
  require(tokens.size() <= max_vocabulary,
          "tokenizer.vocab_size is {}, but there are already {} special and user-defined tokens; increase it",
          max_vocabulary, tokens.size());
  for (const std::string& token : tokens) counts.erase(token);

  std::vector<std::pair<int64_t, std::string>> ranked;
  for (const auto& [token, count] : counts)
    if (count >= options.minimum_count) ranked.emplace_back(-count, token);
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > max_vocabulary - tokens.size()) ranked.resize(max_vocabulary - tokens.size());

  std::string vocabulary;
  for (const std::string& token : tokens) vocabulary += token + '\n';
  for (const auto& [rank, token] : ranked) vocabulary += token + '\n';
  return vocabulary;
}

}  // namespace sixfold
