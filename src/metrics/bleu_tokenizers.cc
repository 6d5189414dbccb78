#include "metrics/bleu_tokenizers.h"

#include <unicode/uchar.h>

#include <algorithm>

#include "base/error.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_not_digit(char32_t c) { return !is_digit(c); }
bool is_dash(char32_t c) { return c == U'-'; }
bool is_dot_or_comma(char32_t c) { return c == U'.' || c == U','; }

/// ASCII punctuation except `'`, `-`, `.` and `,`, which have separate rules or stay in the word.
bool is_separate_in_13a(char32_t c) {
  return (c >= U' ' && c <= U'&') || (c >= U'(' && c <= U'+') || c == U'/' || (c >= U':' && c <= U'@') ||
         (c >= U'[' && c <= U'`') || (c >= U'{' && c <= U'~');
}

bool has_category(char32_t c, uint32_t mask) { return (U_GET_GC_MASK(static_cast<UChar32>(c)) & mask) != 0; }
bool is_punctuation(char32_t c) { return has_category(c, U_GC_P_MASK); }
bool is_symbol(char32_t c) { return has_category(c, U_GC_S_MASK); }
bool is_not_number(char32_t c) { return !has_category(c, U_GC_N_MASK); }

template <class Matches>
std::u32string space_around(std::u32string_view text, Matches matches) {
  std::u32string out;
  for (const char32_t c : text) {
    if (matches(c))
      out.append({U' ', c, U' '});
    else
      out.push_back(c);
  }
  return out;
}

enum class Side { left, right };

/// Puts spaces around the punctuation in each pair (first, second), which is its left or its right half. Pairs
/// are found from left to right without overlap, as in a substitution of regular expressions, so every other
/// dot of
/// "...." is missed. mteval does the same, and scores depend on it.
template <class First, class Second>
std::u32string split_pairs(std::u32string_view text, First first, Second second, Side punctuation) {
  std::u32string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      out.push_back(text[i]);
      continue;
    }
    if (punctuation == Side::left) out.push_back(U' ');
    out.append({text[i], U' ', text[i + 1]});
    if (punctuation == Side::right) out.push_back(U' ');
    ++i;
  }
  return out;
}

std::u32string split_13a(std::u32string_view sentence) {
  std::u32string text = replace_all(sentence, U"<skipped>", U"");
  text = replace_all(text, U"-\n", U"");
  text = resolve_entities(replace_all(text, U"\n", U" "));
  return space_around_stops(space_around_punctuation(U" " + text + U" "));
}

/// The ranges of sacreBLEU. It writes the ranges above U+FFFF with the escape \u, which takes four digits, as
/// \u20000 to \u2a6d6 and \u2f800 to \u2fa1d. They therefore are different ranges, on which scores depend.
bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> ranges[] = {
      {0x2001, 0x2a6d}, {0x2e80, 0x2eff}, {0x2f00, 0x2fdf}, {0x2ff0, 0x2fff}, {0x3000, 0x303f},
      {0x3100, 0x312f}, {0x31a0, 0x31bf}, {0x31c0, 0x31ef}, {0x3200, 0x33ff}, {0x3400, 0x4db5},
      {0x4e00, 0x9fbb}, {0xf900, 0xfa2d}, {0xfa30, 0xfa6a}, {0xfa70, 0xfad9}, {0xfe10, 0xfe1f},
      {0xfe30, 0xfe4f}, {0xff00, 0xffef}};
  return std::ranges::any_of(ranges, [c](const auto& range) { return range.first <= c && c <= range.second; });
}

std::u32string split_chinese(std::u32string_view sentence) {
  return space_around_stops(
      space_around_punctuation(space_around(without_space_at_begin(sentence), is_chinese)));
}

std::u32string split_international(std::u32string_view sentence) {
  std::u32string text = split_pairs(sentence, is_not_number, is_punctuation, Side::right);
  text = split_pairs(text, is_punctuation, is_not_number, Side::left);
  return space_around(text, is_symbol);
}

}  // namespace

std::u32string replace_all(std::u32string_view text, std::u32string_view from, std::u32string_view to) {
  std::u32string out;
  size_t at = 0;
  for (size_t hit; (hit = text.find(from, at)) != text.npos; at = hit + from.size())
    out.append(text.substr(at, hit - at)).append(to);
  return out.append(text.substr(at));
}

std::u32string resolve_entities(std::u32string_view text) {
  std::u32string out = replace_all(text, U"&quot;", U"\"");
  out = replace_all(out, U"&amp;", U"&");
  out = replace_all(out, U"&lt;", U"<");
  return replace_all(out, U"&gt;", U">");
}

std::u32string space_around_punctuation(std::u32string_view text) {
  return space_around(text, is_separate_in_13a);
}

std::u32string space_around_stops(std::u32string_view text) {
  std::u32string out = split_pairs(text, is_not_digit, is_dot_or_comma, Side::right);
  out = split_pairs(out, is_dot_or_comma, is_not_digit, Side::left);
  return split_pairs(out, is_digit, is_dash, Side::right);
}

std::u32string tokenize(std::u32string_view sentence, BleuTokenizer tokenizer) {
  // sacreBLEU removes trailing space first, which matters for a final dot in `international`.
  sentence = without_space_at_end(sentence);
  switch (tokenizer) {
    case BleuTokenizer::v13a:
      return normalize_spaces(split_13a(sentence));
    case BleuTokenizer::none:
      return normalize_spaces(sentence);
    case BleuTokenizer::character:
      return normalize_spaces(space_around(sentence, [](char32_t) { return true; }));
    case BleuTokenizer::international:
      return normalize_spaces(split_international(sentence));
    case BleuTokenizer::chinese:
      return normalize_spaces(split_chinese(sentence));
    case BleuTokenizer::ja_mecab:
    case BleuTokenizer::spm:
      break;  // these have a `ModelTokenizer`
  }
  throw_unknown("tokenizer of BLEU", tokenizer);
}

}  // namespace sixfold
