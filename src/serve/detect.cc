#include "serve/detect.h"

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

#include <algorithm>

namespace sixfold::serve {
namespace {

std::string base_of(const std::string& code) { return code.substr(0, code.find('-')); }

/// The index of the language that CLD2 found, or -1. CLD2 says "zh" and "zh-Hant", "no" for Bokmål, "iw" for
/// Hebrew.
int index_of(CLD2::Language found, std::span<const std::string> languages) {
  std::string code = CLD2::LanguageCode(found);
  if (code == "iw") code = "he";
  for (size_t i = 0; i < languages.size(); ++i)
    if (languages[i] == code) return static_cast<int>(i);
  for (size_t i = 0; i < languages.size(); ++i) {
    const std::string base = base_of(languages[i]);
    if (base == base_of(code) || (code == "no" && (base == "nb" || base == "nn"))) return static_cast<int>(i);
  }
  return -1;
}

struct Found {
  CLD2::Language language;
  int percent;
};

std::vector<Found> search(const std::string& text, CLD2::Language hint) {
  const CLD2::CLDHints hints{nullptr, nullptr, CLD2::UNKNOWN_ENCODING, hint};
  CLD2::Language languages[3];
  int percents[3], bytes = 0, valid = 0;
  double scores[3];
  bool reliable = false;
  CLD2::ExtDetectLanguageSummaryCheckUTF8(text.data(), static_cast<int>(text.size()), /*is_plain_text=*/true,
                                          &hints, CLD2::kCLDFlagBestEffort, languages, percents, scores,
                                          nullptr, &bytes, &reliable, &valid);
  std::vector<Found> found;
  for (int i = 0; i < 3; ++i)
    if (languages[i] != CLD2::UNKNOWN_LANGUAGE && percents[i] > 0) found.push_back({languages[i], percents[i]});
  return found;
}

}  // namespace

std::vector<DetectedLanguage> detect_language(const std::string& text, std::span<const std::string> languages) {
  constexpr size_t enough = 10'000;  // bytes of a long text
  std::string part = text.substr(0, enough);
  while (part.size() < text.size() && !part.empty() &&
         (static_cast<unsigned char>(text[part.size()]) & 0xC0) == 0x80)
    part.pop_back();  // whole characters
  std::vector<DetectedLanguage> result;
  const auto take = [&](const std::vector<Found>& all) {
    for (const Found& found : all)
      if (const int index = index_of(found.language, languages); index >= 0) {
        const std::string& code = languages[static_cast<size_t>(index)];
        const auto same = [&](const DetectedLanguage& other) { return other.language == code; };
        if (std::none_of(result.begin(), result.end(), same)) result.push_back({code, found.percent});
      }
  };
  take(search(part, CLD2::UNKNOWN_LANGUAGE));
  for (const std::string& code : languages) {  // a few words: is it possible that they are of this language?
    if (!result.empty()) break;
    take(search(part, CLD2::GetLanguageFromName(base_of(code).c_str())));
  }
  if (result.empty()) result.push_back({languages[0], 0});
  return result;
}

}  // namespace sixfold::serve
