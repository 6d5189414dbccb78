#include "text/language.h"

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

namespace sixfold {

LanguageGuess guess_language(std::string_view text) {
  const CLD2::CLDHints hints{nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
  CLD2::Language languages[3];
  int percents[3], bytes = 0, valid = 0;
  double scores[3];
  bool reliable = false;
  CLD2::ExtDetectLanguageSummaryCheckUTF8(text.data(), static_cast<int>(text.size()), /*is_plain_text=*/true,
                                          &hints, 0, languages, percents, scores, nullptr, &bytes, &reliable,
                                          &valid);
  if (languages[0] == CLD2::UNKNOWN_LANGUAGE) return {};
  std::string code = CLD2::LanguageCode(languages[0]);
  if (code == "iw") code = "he";
  return {code, percents[0], reliable};
}

bool is_known_language(std::string_view code) {
  const std::string base(code.substr(0, code.find_first_of("-_")));
  return base.size() == 2 && CLD2::GetLanguageFromName(base.c_str()) != CLD2::UNKNOWN_LANGUAGE;
}

bool is_same_language(std::string_view a, std::string_view b) {
  const auto base = [](std::string_view code) {
    code = code.substr(0, code.find_first_of("-_"));
    return code == "nb" || code == "nn" ? std::string_view("no") : code;
  };
  return base(a) == base(b);
}

}  // namespace sixfold
