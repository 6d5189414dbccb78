#include "data/check/line_faults.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/lines.h"
#include "text/read_text.h"

namespace sixfold {
namespace {

/// Calls `use` with each character of valid UTF-8 until it returns true. Returns whether it did.
template <class Use>
bool any_character(std::string_view text, const Use& use) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < size;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(bytes, i, size, c);
    if (use(c)) return true;
  }
  return false;
}

/// The byte of a character in Windows-1252, or in Latin-1 for bytes that Windows-1252 leaves undefined; -1 if
/// there is none.
int as_single_byte(UChar32 c) {
  static constexpr char16_t specials[] = {0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
                                          0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0,      0x017D, 0,
                                          0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
                                          0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};
  if (c >= 0x80 && c <= 0xFF) return c;
  const auto* found = std::ranges::find(specials, static_cast<char16_t>(c));
  return c > 0xFF && c <= 0xFFFF && found != std::end(specials) ? 0x80 + static_cast<int>(found - specials)
                                                                : -1;
}

bool is_alphabet(UScriptCode script) {
  return script == USCRIPT_LATIN || script == USCRIPT_GREEK || script == USCRIPT_CYRILLIC;
}

UScriptCode script_of(UChar32 c) {
  UErrorCode status = U_ZERO_ERROR;
  const UScriptCode script = uscript_getScript(c, &status);
  switch (script) {
    case USCRIPT_HIRAGANA:
    case USCRIPT_KATAKANA:
    case USCRIPT_KATAKANA_OR_HIRAGANA:
    case USCRIPT_HANGUL:
    case USCRIPT_BOPOMOFO:
      return USCRIPT_HAN;
    case USCRIPT_INHERITED:
    case USCRIPT_INVALID_CODE:
      return USCRIPT_COMMON;
    default:
      return script;
  }
}

bool is_no_break(UChar32 c) { return c == 0x00A0 || c == 0x202F; }

/// Punctuation beside which French and others write a no-break space.
bool may_follow_no_break(UChar32 c) {
  return u_isdigit(c) || u_ispunct(c) || c == '%' || c == 0x20AC || c == '$' || c == 0xB0;
}

}  // namespace

bool has_mojibake(std::string_view line) {
  // The first two bytes of the UTF-8 sequence that has begun, and the number of bytes that are left.
  int first = 0, second = 0, left = 0;
  // The characters of the current sequence, and the number of complete sequences.
  int in_sequence = 0, sequences = 0;
  // All characters beyond ASCII, and those in complete sequences.
  int beyond_ascii = 0, in_sequences = 0;
  UChar32 before = 0, before_sequence = 0;
  bool may_end_word = false;  // the last sequence may be the end of a word in capitals: "AMANHÃ…"
  const bool sure = any_character(line, [&](UChar32 c) {
    if (c == 0xFFFD || (may_end_word && u_isalpha(c))) return true;
    may_end_word = false;
    const UChar32 last = std::exchange(before, c);
    const int byte = as_single_byte(c);
    beyond_ascii += c >= 0x80;
    if (left > 0 && byte >= 0x80 && byte < 0xC0) {
      if (++in_sequence == 2) second = byte;
      if (--left > 0) return false;
      ++sequences;
      in_sequences += in_sequence;
      // 'Ã' and 'Â' stand for Latin letters, 'â€' and 'â‚' for quotes, dashes and signs, 'âœ' and 'ðŸ' for
      // emoji, 'ï»¿' for a byte order mark.
      const bool of_latin = first == 0xC2 || first == 0xC3;
      may_end_word = of_latin && u_isupper(before_sequence) && !u_isalnum(c);
      return (of_latin && !may_end_word) ||
             (first == 0xE2 && (second == 0x80 || second == 0x82 || second == 0x9C)) ||
             (first == 0xF0 && second == 0x9F) || (first == 0xEF && second == 0xBB && byte == 0xBF);
    }
    before_sequence = last;
    first = byte;
    in_sequence = 1;
    left = byte < 0xC2 || byte >= 0xF5 ? 0 : byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    return false;
  });
  // Mojibake of other scripts consists of many sequences. A single one may be correct text: a letter before a
  // quote or a no-break space.
  return sure || (sequences >= 3 && 5 * in_sequences >= 4 * beyond_ascii);
}

bool is_decomposed(std::string_view line) {
  UErrorCode status = U_ZERO_ERROR;
  static const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  if (!nfc) throw_environment_error("ICU has no data of normalization: {}", u_errorName(status));
  const bool normal = nfc->isNormalizedUTF8({line.data(), static_cast<int32_t>(line.size())}, status);
  return U_SUCCESS(status) && !normal;
}

namespace {

/// What a line has that needs characters without a width.
struct LineScripts {
  bool right_to_left = false;   ///< letters from right to left, which marks may order
  bool without_spaces = false;  ///< letters of scripts such as Khmer, Thai and Tibetan, whose words a
                                ///< zero-width space may divide
  bool joins = false;           ///< letters of Arabic, Indic or other scripts, or emoji, which joiners change
};

LineScripts scripts_of(std::string_view line) {
  LineScripts found;
  any_character(line, [&](UChar32 c) {
    found.joins |= c >= 0x0590 &&
                   (u_getIntPropertyValue(c, UCHAR_JOINING_TYPE) != U_JT_NON_JOINING ||
                    u_getIntPropertyValue(c, UCHAR_INDIC_SYLLABIC_CATEGORY) != U_INSC_OTHER ||
                    u_hasBinaryProperty(c, UCHAR_EXTENDED_PICTOGRAPHIC)) &&
                   c != 0x200C && c != 0x200D;
    if (c < 0x0590 || !u_isalpha(c)) return false;
    const UCharDirection direction = u_charDirection(c);
    found.right_to_left |= direction == U_RIGHT_TO_LEFT || direction == U_RIGHT_TO_LEFT_ARABIC;
    found.without_spaces |= u_getIntPropertyValue(c, UCHAR_LINE_BREAK) == U_LB_COMPLEX_CONTEXT ||
                            uscript_hasScript(c, USCRIPT_TIBETAN);
    return false;
  });
  return found;
}

/// Whether a character without a width belongs to correct text: the vowel separator of Mongolian, tags of
/// emoji, and what the scripts of the line need.
bool is_needed(UChar32 c, const LineScripts& line) {
  const bool orders =
      c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return ((c == 0x200C || c == 0x200D) && line.joins) || c == 0x180E || (c >= 0xE0020 && c <= 0xE007F) ||
         (orders && line.right_to_left) || (c == 0x200B && line.without_spaces);
}

}  // namespace

bool has_odd_space(std::string_view line) {
  const LineScripts scripts = scripts_of(line);
  UChar32 before = 0, before_that = 0;
  // A no-break space after a letter, which only the next character may justify.
  bool unjustified_before = false;
  const auto may_begin_word = [](UChar32 c) {
    const auto type = u_charType(c);
    return c == 0 || c == '"' || u_isUWhiteSpace(c) || type == U_START_PUNCTUATION ||
           type == U_INITIAL_PUNCTUATION;
  };
  const bool odd = any_character(line, [&](UChar32 c) {
    if (before == 0 && u_isUWhiteSpace(c)) return true;
    if (unjustified_before && !may_follow_no_break(c)) return true;
    const bool one_letter = u_isalpha(before) && may_begin_word(before_that);  // "w domu" of Polish and Czech
    unjustified_before = is_no_break(c) && !one_letter && !may_follow_no_break(before);
    if (c == ' ' && (before == ' ' || is_no_break(before))) return true;
    before_that = before;
    before = c;
    const auto type = u_charType(c);
    const bool invisible = type == U_FORMAT_CHAR && u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
    return type == U_CONTROL_CHAR || (invisible && !is_needed(c, scripts)) || type == U_LINE_SEPARATOR ||
           type == U_PARAGRAPH_SEPARATOR;
  });
  return odd || unjustified_before || u_isUWhiteSpace(before);
}

std::string mended(std::string_view line) {
  std::string bytes;
  const bool other = !has_mojibake(line) || any_character(line, [&](UChar32 c) {
    const int byte = c < 0x80 ? c : as_single_byte(c);
    bytes += static_cast<char>(byte);
    return byte < 0;
  });
  std::string text = other || fault_of_text(bytes) ? std::string(line) : bytes;
  return is_decomposed(text) || has_odd_space(text) ? read_text(text, TextSide::source) : text;
}

void ScriptCounts::add(std::string_view line) {
  any_character(line, [&](UChar32 c) {
    if (const UScriptCode script = u_isalpha(c) ? script_of(c) : USCRIPT_COMMON;
        script != USCRIPT_COMMON && static_cast<size_t>(script) < counts_.size()) {
      ++counts_[static_cast<size_t>(script)];
      ++letters_;
    }
    return false;
  });
}

bool ScriptCounts::is_dense(int script) { return script == USCRIPT_HAN; }

int ScriptCounts::commonest() const {
  return letters_ == 0 ? -1 : static_cast<int>(std::ranges::max_element(counts_) - counts_.begin());
}

namespace {

/// Whether a Greek letter is written as a unit or symbol beside Latin letters ("kΩ", "β-", "Δt"). Those that
/// look like Latin letters are not.
bool is_greek_symbol(UChar32 c) {
  constexpr std::u16string_view symbols = u"ΓΔΘΛΞΠΣΦΨΩβγδεζηθλμξπσφψω";
  return c <= 0xFFFF && symbols.find(static_cast<char16_t>(c)) != symbols.npos;
}

}  // namespace

bool mixes_alphabets(std::string_view line) {
  UScriptCode word = USCRIPT_COMMON;
  return any_character(line, [&](UChar32 c) {
    if (!u_isalpha(c)) {
      if (u_charType(c) != U_NON_SPACING_MARK) word = USCRIPT_COMMON;
      return false;
    }
    const UScriptCode script = script_of(c);
    if (!is_alphabet(script) || is_greek_symbol(c)) return false;
    const bool mixed = word != USCRIPT_COMMON && word != script;
    word = script;
    return mixed;
  });
}

}  // namespace sixfold
