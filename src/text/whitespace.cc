#include "text/whitespace.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/error.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

constexpr std::string_view separators = " \t\n\v\f\r";
constexpr std::string_view word_mark = "\u2581";  // SentencePiece writes it for the space before a word
constexpr std::string_view join_mark = "@@";
constexpr std::array<std::string_view, 3> special_symbols = {"<unk>", "<s>", "</s>"};

template <class Function>
void for_each_symbol(std::string_view text, Function function) {
  for (size_t begin = 0; (begin = text.find_first_not_of(separators, begin)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    function(text.substr(begin, end - begin));
    begin = end;
  }
}

/// Symbols become text again.
class Joiner {
 public:
  explicit Joiner(bool marks_words) : marks_words_(marks_words) {}

  void add(std::string_view symbol) {
    if (marks_words_) {
      const bool begins = symbol.starts_with(word_mark);
      if (begins) symbol.remove_prefix(word_mark.size());
      if (begins && !text_.empty()) text_ += ' ';
    } else {
      if (!joined_) text_ += ' ';
      joined_ = symbol.ends_with(join_mark);
      if (joined_) symbol.remove_suffix(join_mark.size());
    }
    text_ += symbol;
  }
  std::string take() { return std::move(text_); }

 private:
  bool marks_words_;
  bool joined_ = true;  // to what comes next
  std::string text_;
};

class WhitespaceTokenizer : public Tokenizer {
 public:
  WhitespaceTokenizer(std::string_view vocabulary, const std::string& origin) {
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
    for (const std::string_view symbol : special_symbols) ids_.erase(std::string(symbol));
    marks_words_ = has_word_marks();
  }

  std::vector<int32_t> encode(std::string_view text) const override {
    std::vector<int32_t> ids;
    for_each_symbol(text, [&](std::string_view symbol) {
      const auto found =
          ids_.find(first_invalid_utf8(symbol) ? replace_invalid_utf8(symbol) : std::string(symbol));
      ids.push_back(found == ids_.end() ? unk_ : found->second);
    });
    return ids;
  }

  std::string decode_pieces(std::span<const int32_t> ids) const override {
    Joiner text(marks_words_);
    for (const int32_t id : ids) {
      const std::string& symbol = at(id);
      if (id != bos_ && id != eos_) text.add(symbol);
    }
    return text.take();
  }

  std::string join(std::string_view line) const override {
    Joiner text(marks_words_);
    for_each_symbol(line, [&](std::string_view symbol) { text.add(symbol); });
    return text.take();
  }

  int vocab_size() const override { return static_cast<int>(symbols_.size()); }
  std::string piece(int32_t id) const override { return at(id); }
  TokenizerKind kind() const override { return TokenizerKind::whitespace; }
  const std::string& serialized() const override { return serialized_; }

 private:
  void add(std::string symbol, const std::string& origin) {
    const size_t line = symbols_.size() + 1;
    require(!symbol.empty() && symbol.find_first_of(separators) == symbol.npos,
            "{}:{}: a vocabulary has one token on each line, without spaces", origin, line);
    require(!first_invalid_utf8(symbol), "{}:{}: the token is not valid UTF-8", origin, line);
    require(ids_.emplace(symbol, static_cast<int32_t>(symbols_.size())).second, "{}:{}: '{}' is listed twice",
            origin, line, symbol);
    serialized_ += symbol + '\n';
    symbols_.push_back(std::move(symbol));
  }

  int32_t special(const std::string& symbol, const std::string& origin) const {
    const auto found = ids_.find(symbol);
    require(found != ids_.end(), "{}: the vocabulary lacks {}; put <unk> and </s> on lines of their own",
            origin, symbol);
    return found->second;
  }

  // A stray mark or two must not glue a vocabulary of words together.
  bool has_word_marks() const {
    const auto count = [&](auto predicate) {
      return std::count_if(symbols_.begin(), symbols_.end(), predicate);
    };
    const auto marked = count([](const std::string& symbol) { return symbol.starts_with(word_mark); });
    const auto joined = count([](const std::string& symbol) { return symbol.ends_with(join_mark); });
    return marked > joined && 100 * marked >= vocab_size();
  }

  const std::string& at(int32_t id) const {
    require(id >= 0 && id < vocab_size(), "id {} is outside the vocabulary, which has {} tokens", id,
            vocab_size());
    return symbols_[id];
  }

  std::vector<std::string> symbols_;
  std::unordered_map<std::string, int32_t> ids_;  ///< without the special symbols, which text can't name
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
      for_each_symbol(sentence, [&](std::string_view symbol) { ++counts[std::string(symbol)]; });
    });
  require(!counts.empty(), "there is no text to build a vocabulary from");

  std::vector<std::string> symbols(special_symbols.begin(), special_symbols.end());
  symbols.insert(symbols.end(), options.user_defined_symbols.begin(), options.user_defined_symbols.end());
  const size_t most = options.vocab_size == 0 ? symbols.size() + counts.size() : options.vocab_size;
  require(symbols.size() <= most,
          "tokenizer.vocab_size is {}, but the special and user-defined tokens alone are {}", most,
          symbols.size());
  for (const std::string& symbol : symbols) counts.erase(symbol);

  std::vector<std::pair<int64_t, std::string>> ranked;
  for (const auto& [symbol, count] : counts)
    if (count >= options.minimum_count) ranked.emplace_back(-count, symbol);
  std::sort(ranked.begin(), ranked.end());
  if (ranked.size() > most - symbols.size()) ranked.resize(most - symbols.size());

  std::string vocabulary;
  for (const std::string& symbol : symbols) vocabulary += symbol + '\n';
  for (const auto& [rank, symbol] : ranked) vocabulary += symbol + '\n';
  return vocabulary;
}

}  // namespace sixfold
