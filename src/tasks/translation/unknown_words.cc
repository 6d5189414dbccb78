#include "tasks/translation/unknown_words.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "text/glossary.h"
#include "text/token_words.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

/// Stands for an unknown token in a text: one of the characters that no text may have.
constexpr std::string_view unknown_mark = "\uFDD0";
constexpr size_t longest_word = 1024;  // bytes of a word of the source that is written

/// The character of well-formed text after a place, which is moved over it; likewise before a place.
UChar32 next_of(std::string_view text, size_t& place) {
  UChar32 c = -1;
  U8_NEXT(text.data(), place, text.size(), c);
  return c;
}
UChar32 last_of(std::string_view text, size_t& place) {
  auto at = static_cast<int32_t>(place);
  UChar32 c = -1;
  U8_PREV(text.data(), 0, at, c);
  place = static_cast<size_t>(at);
  return c;
}

/// The part of a text without characters of a kind at its ends.
template <class IsOfKind>
TextRange stripped(std::string_view text, TextRange part, const IsOfKind& is_of_kind) {
  for (size_t next = part.begin; part.begin < part.end && is_of_kind(next_of(text, next)); part.begin = next) {
  }
  for (size_t last = part.end; part.begin < part.end && is_of_kind(last_of(text, last)); part.end = last) {
  }
  return part;
}

/// Whether a character is part of a word that no space separates from the next one.
bool is_unspaced(UChar32 c) {
  return (u_isalnum(c) || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0) && !is_within_words(static_cast<char32_t>(c));
}

/// Whether a word ends between two characters.
bool ends_word(UChar32 before, UChar32 after) {
  return u_isUWhiteSpace(before) || u_isUWhiteSpace(after) || is_unspaced(before) || is_unspaced(after);
}

/// The words of well-formed text. All words of it are found in time about linear in the text.
class WordsOfText {
 public:
  explicit WordsOfText(std::string text) : text_(std::move(text)), ends_{0} {
    UChar32 before = -1;
    for (size_t place = 0; place < text_.size();) {
      const size_t begin = place;
      const UChar32 after = next_of(text_, place);
      if (begin > 0 && ends_word(before, after)) ends_.push_back(begin);
      before = after;
    }
    ends_.push_back(text_.size());
  }
  const std::string& text() const { return text_; }

  /// The word around a part; without a visible character in this part, the word after it.
  TextRange around(TextRange part) {
    TextRange word = stripped(text_, part, [](UChar32 c) { return u_isUWhiteSpace(c); });
    if (word.begin == word.end && word.end < text_.size()) next_of(text_, word.end);
    if (word.begin == word.end) return word;
    word = {*std::prev(std::ranges::upper_bound(ends_, word.begin)),
            *std::ranges::lower_bound(ends_, word.end)};
    if (word.begin == last_.begin && word.end == last_.end) return last_core_;
    const TextRange core = stripped(text_, word, [](UChar32 c) { return u_ispunct(c); });
    last_ = word;
    return last_core_ = core.begin < core.end ? core : word;
  }

 private:
  std::string text_;
  std::vector<size_t> ends_;    // places where a word ends, and those of the text, in ascending order
  TextRange last_, last_core_;  // the last word, and this without punctuation at its ends
};

/// The text of a source and the words that its tokens belong to, which are empty for tokens around the text.
struct SourceWords {
  std::string text;
  std::vector<TextRange> words;
};

SourceWords words_of(const ModelRuntime& open, const ScoredPair& pair, const PairContext& common) {
  const Tokenizer& tokenizer = open.source();
  SourceWords source{.text = tokenizer.join(replace_invalid_utf8(std::string(pair.text))),
                     .words = std::vector<TextRange>(pair.source.size())};
  const size_t end = pair.source.size() - common.suffix, begin = std::min(common.prefix, end);
  const auto tokens = pair.source.subspan(begin, end - begin);
  const std::vector<LocatedToken> located = tokenizer.locate(source.text);
  if (std::ranges::equal(located.begin(), located.begin() + std::min(std::ssize(located), std::ssize(tokens)),
                         tokens.begin(), tokens.end(), {}, &LocatedToken::id)) {
    if (located.size() > tokens.size()) {  // the model reads only the beginning
      size_t read = tokens.empty() ? 0 : located[tokens.size() - 1].end;
      while (read < source.text.size() && (static_cast<unsigned char>(source.text[read]) & 0xC0) == 0x80)
        ++read;
      source.text.resize(read);
    }
    WordsOfText words(source.text);
    for (size_t i = 0; i < tokens.size(); ++i)
      source.words[begin + i] = words.around({located[i].begin, located[i].end});
    return source;
  }
  // A text that was segmented before.
  const std::vector<TextRange> ranges = word_ranges(source.text);
  const std::vector<int> numbers = words_of_tokens(tokenizer, tokens, /*shows_unknown=*/true);
  WordsOfText words(source.text);
  for (size_t i = 0; i < tokens.size(); ++i)
    if (const int number = numbers[i]; number >= 0 && number < std::ssize(ranges))
      source.words[begin + i] = words.around(ranges[static_cast<size_t>(number)]);
  return source;
}

/// The word of the source with the largest sum of weights, of several the first. `weights`: [heads, target
/// tokens, source tokens].
std::string attended_word(const SourceWords& source, const std::vector<float>& weights, size_t target_tokens,
                          size_t token) {
  const size_t columns = source.words.size();
  std::vector<double> of_tokens(columns);
  for (size_t row = token; row < weights.size() / columns; row += target_tokens)
    for (size_t s = 0; s < columns; ++s) of_tokens[s] += double{weights[row * columns + s]};
  std::map<size_t, double> sums;  // by the place of a word
  for (size_t s = 0; s < columns; ++s)
    if (const TextRange& word = source.words[s]; word.begin < word.end) sums[word.begin] += of_tokens[s];
  const auto best =
      std::ranges::max_element(sums, {}, [](const auto& word_and_sum) { return word_and_sum.second; });
  if (best == sums.end()) return {};
  const TextRange word = *std::ranges::find(source.words, best->first, &TextRange::begin);
  if (word.end - word.begin <= longest_word) return source.text.substr(word.begin, word.end - word.begin);
  size_t end = word.begin + longest_word;  // not within a character
  while ((static_cast<unsigned char>(source.text[end]) & 0xC0) == 0x80) --end;
  return source.text.substr(word.begin, end - word.begin);
}

/// The text of an output with words of the source. Nothing if the text has the mark for another reason.
std::optional<std::string> replaced(const Tokenizer& tokenizer, const ScoredPair& pair,
                                    const SourceWords& source, const std::vector<float>& weights) {
  const std::vector<int32_t>& ids = pair.output.ids;
  WordsOfText words(replace_invalid_utf8(tokenizer.decode(ids, std::string(unknown_mark))));
  const std::string& text = words.text();
  std::string result;
  size_t done = 0, mark = 0;
  for (size_t token = 0; token < ids.size(); ++token) {
    if (ids[token] != tokenizer.unk()) continue;
    mark = text.find(unknown_mark, mark);
    if (mark == text.npos) return {};
    const TextRange word = words.around({mark, mark + unknown_mark.size()});
    mark += unknown_mark.size();
    if (word.begin < done) continue;  // of the word before it
    result += text.substr(done, word.begin - done);
    result += attended_word(source, weights, ids.size() + (pair.ends() ? 1 : 0), token);
    done = word.end;
  }
  if (text.find(unknown_mark, mark) != text.npos) return {};
  return result + text.substr(done);
}

}  // namespace

void replace_unknown_words(const ModelRuntime& open, const DecodeWorkspace& decoding,
                           std::span<const ScoredPair> pairs, std::optional<int> layer,
                           const PairContext& common, std::span<Translation> translations) {
  const Tokenizer& tokenizer = open.target();
  if (tokenizer.unk() < 0 || tokenizer.unk() == tokenizer.eos()) return;
  std::vector<ScoredPair> unknown;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < pairs.size(); ++i)
    if (!pairs[i].source.empty() && std::ranges::count(pairs[i].output.ids, tokenizer.unk()) > 0) {
      unknown.push_back(pairs[i]);
      numbers.push_back(i);
    }
  if (unknown.empty()) return;
  const auto weights = cross_attention(open, decoding, unknown, layer);
  std::optional<SourceWords> source;
  for (size_t i = 0; i < unknown.size(); ++i) {
    const bool same = i > 0 && unknown[i].source.data() == unknown[i - 1].source.data() &&
                      unknown[i].text.data() == unknown[i - 1].text.data();
    if (!same) source = words_of(open, unknown[i], common);
    if (const auto text = replaced(tokenizer, unknown[i], *source, weights[i]))
      translations[numbers[i]].text = *text;
  }
}

}  // namespace sixfold
