#include "text/language.h"

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

namespace sixfold {

namespace {

/// The code of two letters, or of three if the language has none of two: "de" for "deu_Latn", "no" for "nb".
std::string base_language(std::string_view code) {
  UErrorCode status = U_ZERO_ERROR;
  char language[ULOC_LANG_CAPACITY];
  const std::string whole(code.substr(0, 64));
  uloc_getLanguage(whole.c_str(), language, sizeof language, &status);
  if (U_FAILURE(status) || status == U_STRING_NOT_TERMINATED_WARNING) return "";
  const std::string base = language;
  if (base == "nb" || base == "nn") return "no";
  return base == "iw" ? "he" : base == "ji" ? "yi" : base == "in" ? "id" : base;  // former codes
}

/// A text with spaces in place of the characters that make CLD2 reject a text: control characters, invalid
/// UTF-8 and noncharacters.
std::string with_characters_only(std::string_view text) {
  std::string kept;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < size;) {
    const int32_t begin = i;
    UChar32 c = 0;
    U8_NEXT(text.data(), i, size, c);
    if (c < 0 || u_charType(c) == U_CONTROL_CHAR || U_IS_UNICODE_NONCHAR(c))
      kept += ' ';
    else
      kept.append(text, static_cast<size_t>(begin), static_cast<size_t>(i - begin));
  }
  return kept;
}

/// The result of CLD2.
struct Detection {
  std::array<CLD2::Language, 3> languages{};
  std::array<int, 3> percents{};
  std::array<double, 3> scores{};
  bool sure = false;
};

/// Returns nothing if CLD2 rejects the text.
std::optional<Detection> detect(std::string_view text, const CLD2::CLDHints& hints, bool few_words) {
  Detection found;
  int bytes = 0, valid = 0;
  CLD2::ExtDetectLanguageSummaryCheckUTF8(text.data(), static_cast<int>(text.size()), /*is_plain_text=*/true,
                                          &hints, few_words ? CLD2::kCLDFlagBestEffort : 0,
                                          found.languages.data(), found.percents.data(), found.scores.data(),
                                          nullptr, &bytes, &found.sure, &valid);
  if (static_cast<size_t>(valid) < text.size()) return {};  // CLD2 has not set the other results
  return found;
}

}  // namespace

LanguageShares find_languages(std::string_view text, const std::string& hint, bool few_words) {
  const CLD2::Language hinted = hint.empty() ? CLD2::UNKNOWN_LANGUAGE : CLD2::GetLanguageFromName(hint.c_str());
  const CLD2::CLDHints hints{nullptr, nullptr, CLD2::UNKNOWN_ENCODING, hinted};
  std::optional<Detection> found = detect(text, hints, few_words);
  if (!found) found = detect(with_characters_only(text), hints, few_words);
  LanguageShares shares;
  if (!found) return shares;
  shares.sure = found->sure;
  for (size_t i = 0; i < found->languages.size(); ++i) {
    std::string code = CLD2::LanguageCode(found->languages[i]);
    if (code == "iw") code = "he";
    if (code != "un" && found->percents[i] > 0)
      shares.languages.push_back(
          {std::move(code), found->percents[i], found->scores[i], found->languages[i] == hinted});
  }
  return shares;
}

bool is_known_language(std::string_view code) {
  const std::string base = base_language(code);
  return base.size() == 2 && CLD2::GetLanguageFromName(base.c_str()) != CLD2::UNKNOWN_LANGUAGE;
}

bool is_same_language(std::string_view a, std::string_view b) { return base_language(a) == base_language(b); }

static bool are_both_of(std::string_view a, std::string_view b, std::initializer_list<std::string_view> bases) {
  const std::string first = base_language(a), second = base_language(b);
  return std::ranges::count(bases, first) > 0 && std::ranges::count(bases, second) > 0;
}

bool is_told_apart(std::string_view a, std::string_view b) {
  return !is_same_language(a, b) && !are_both_of(a, b, {"bs", "hr", "sr"});
}

bool is_like_language(std::string_view a, std::string_view b) {
  return !is_told_apart(a, b) || are_both_of(a, b, {"no", "da"});
}

}  // namespace sixfold
