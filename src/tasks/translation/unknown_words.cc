#include "tasks/translation/unknown_words.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "text/token_words.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

/// Stands for an unknown token in a text: a Unicode noncharacter, which does not occur in text.
constexpr std::string_view unknown_mark = "\uFDD0";
constexpr size_t max_word_bytes = 1024;  // of a source word in a translation

/// The character of well-formed text that begins at `place`, or that ends there. Moves `place` over it.
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

/// A part of a text, without the characters at its ends that satisfy a condition.
template <class Condition>
TextRange stripped(std::string_view text, TextRange part, const Condition& is_stripped) {
  for (size_t next = part.begin; part.begin < part.end && is_stripped(next_of(text, next)); part.begin = next) {
  }
  for (size_t last = part.end; part.begin < part.end && is_stripped(last_of(text, last)); part.end = last) {
  }
  return part;
}

/// Whether a character belongs to a script that writes words without spaces between them.
bool is_unspaced(UChar32 c) {
  return (u_isalnum(c) || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0) && !is_within_words(static_cast<char32_t>(c));
}

/// Whether a word ends between two characters.
bool ends_word(UChar32 before, UChar32 after) {
  return u_isUWhiteSpace(before) || u_isUWhiteSpace(after) || is_unspaced(before) || is_unspaced(after);
}

/// The words of well-formed text. Finding all of them takes time about linear in the text.
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

  /// The word around a part of the text, or the word after the part if it has no visible character.
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
  std::vector<size_t> ends_;    // offsets of the ends of words, and 0 and the text's size, in ascending order
  TextRange last_, last_core_;  // the word found last, with and without punctuation at its ends
};

/// The text of a source and the words that its tokens belong to, which are empty for tokens around the text.
struct SourceWords {
  std::string text;
  std::vector<TextRange> words;
};

SourceWords words_of(const ModelRuntime& runtime, const ScoredPair& pair, const PairContext& common) {
  const Tokenizer& tokenizer = runtime.source();
  SourceWords source{.text = tokenizer.join(replace_invalid_utf8(std::string(pair.text))),
                     .words = std::vector<TextRange>(pair.source.size())};
  const size_t end = pair.source.size() - common.suffix, begin = std::min(common.prefix, end);
  const auto tokens = pair.source.subspan(begin, end - begin);
  const std::vector<LocatedToken> located = tokenizer.locate(source.text);
  if (std::ranges::equal(located.begin(), located.begin() + std::min(std::ssize(located), std::ssize(tokens)),
                         tokens.begin(), tokens.end(), {}, &LocatedToken::id)) {
    if (located.size() > tokens.size()) {  // the source was cut
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
  // The text was already segmented into subwords.
  const std::vector<TextRange> ranges = word_ranges(source.text);
  const std::vector<int> indices = words_of_tokens(tokenizer, tokens, /*shows_unknown=*/true);
  WordsOfText words(source.text);
  for (size_t i = 0; i < tokens.size(); ++i)
    if (const int number = indices[i]; number >= 0 && number < std::ssize(ranges))
      source.words[begin + i] = words.around(ranges[static_cast<size_t>(number)]);
  return source;
}

/// The word of the source with the largest sum of weights, or the first of several. `weights`: [heads, target
/// tokens, source tokens].
std::string attended_word(const SourceWords& source, const std::vector<float>& weights, size_t target_tokens,
                          size_t token) {
  const size_t columns = source.words.size();
  std::vector<double> token_sums(columns);
  for (size_t row = token; row < weights.size() / columns; row += target_tokens)
    for (size_t s = 0; s < columns; ++s) token_sums[s] += double{weights[row * columns + s]};
  std::map<size_t, double> sums;  // by the offset of a word
  for (size_t s = 0; s < columns; ++s)
    if (const TextRange& word = source.words[s]; word.begin < word.end) sums[word.begin] += token_sums[s];
  const auto best =
      std::ranges::max_element(sums, {}, [](const auto& word_and_sum) { return word_and_sum.second; });
  if (best == sums.end()) return {};
  const TextRange word = *std::ranges::find(source.words, best->first, &TextRange::begin);
  if (word.end - word.begin <= max_word_bytes) return source.text.substr(word.begin, word.end - word.begin);
  size_t end = word.begin + max_word_bytes;  // not within a character
  while ((static_cast<unsigned char>(source.text[end]) & 0xC0) == 0x80) --end;
  return source.text.substr(word.begin, end - word.begin);
}

/// The text of an output, with unknown words replaced by source words. Nothing if the text itself contains the
/// mark.
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
    if (word.begin < done) continue;  // part of a word that has been replaced
    result += text.substr(done, word.begin - done);
    result += attended_word(source, weights, ids.size() + (pair.ends() ? 1 : 0), token);
    done = word.end;
  }
  if (text.find(unknown_mark, mark) != text.npos) return {};
  return result + text.substr(done);
}

}  // namespace

void replace_unknown_words(const ModelRuntime& runtime, const DecodeWorkspace& decoding,
                           std::span<const ScoredPair> pairs, std::optional<int> layer,
                           const PairContext& common, std::span<Translation> translations) {
  const Tokenizer& tokenizer = runtime.target();
  if (tokenizer.unk() < 0 || tokenizer.unk() == tokenizer.eos()) return;
  std::vector<ScoredPair> unknown;
  std::vector<size_t> indices;
  for (size_t i = 0; i < pairs.size(); ++i)
    if (!pairs[i].source.empty() && std::ranges::count(pairs[i].output.ids, tokenizer.unk()) > 0) {
      unknown.push_back(pairs[i]);
      indices.push_back(i);
    }
  if (unknown.empty()) return;
  const auto weights = cross_attention(runtime, decoding, unknown, layer);
  std::optional<SourceWords> source;
  for (size_t i = 0; i < unknown.size(); ++i) {
    const bool same = i > 0 && unknown[i].source.data() == unknown[i - 1].source.data() &&
                      unknown[i].text.data() == unknown[i - 1].text.data();
    if (!same) source = words_of(runtime, unknown[i], common);
    if (const auto text = replaced(tokenizer, unknown[i], *source, weights[i]))
      translations[indices[i]].text = *text;
  }
}

}  // namespace sixfold
