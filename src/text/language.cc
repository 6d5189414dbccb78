#include "text/language.h"

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <unicode/uloc.h>

namespace sixfold {

namespace {

/// The code of two letters, or three where there is none of two: "de" of "deu_Latn", "no" of "nb".
std::string base_language(std::string_view code) {
  UErrorCode status = U_ZERO_ERROR;
  char language[ULOC_LANG_CAPACITY];
  const std::string whole(code.substr(0, 64));
  uloc_getLanguage(whole.c_str(), language, sizeof language, &status);
  if (U_FAILURE(status) || status == U_STRING_NOT_TERMINATED_WARNING) return "";
  const std::string base = language;
  return base == "nb" || base == "nn" ? "no" : base;
}

}  // namespace

LanguageShares find_languages(std::string_view text, const std::string& hint, bool few_words) {
  const CLD2::Language hinted = hint.empty() ? CLD2::UNKNOWN_LANGUAGE : CLD2::GetLanguageFromName(hint.c_str());
  const CLD2::CLDHints hints{nullptr, nullptr, CLD2::UNKNOWN_ENCODING, hinted};
  CLD2::Language languages[3];
  int percents[3], bytes = 0, valid = 0;
  double scores[3];
  LanguageShares shares;
  CLD2::ExtDetectLanguageSummaryCheckUTF8(text.data(), static_cast<int>(text.size()), /*is_plain_text=*/true,
                                          &hints, few_words ? CLD2::kCLDFlagBestEffort : 0, languages, percents,
                                          scores, nullptr, &bytes, &shares.sure, &valid);
  for (int i = 0; i < 3; ++i) {
    std::string code = CLD2::LanguageCode(languages[i]);
    if (code == "iw") code = "he";
    if (code != "un" && percents[i] > 0)
      shares.languages.push_back({std::move(code), percents[i], scores[i], languages[i] == hinted});
  }
  return shares;
}

bool is_known_language(std::string_view code) {
  const std::string base = base_language(code);
  return base.size() == 2 && CLD2::GetLanguageFromName(base.c_str()) != CLD2::UNKNOWN_LANGUAGE;
}

bool is_same_language(std::string_view a, std::string_view b) { return base_language(a) == base_language(b); }

}  // namespace sixfold
