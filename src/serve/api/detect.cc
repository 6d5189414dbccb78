#include "serve/api/detect.h"

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

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
  double score;  ///< of CLD2, by which languages of one text can be compared
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
    if (languages[i] != CLD2::UNKNOWN_LANGUAGE && percents[i] > 0)
      found.push_back({languages[i], percents[i], scores[i]});
  return found;
}

/// What CLD2 finds if it is told that the text is probably in this language. It then finds it in most short
/// texts of the same script; nothing if it finds another all the same.
std::optional<Found> found_with_hint(const std::string& text, const std::string& code) {
  const CLD2::Language hint = CLD2::GetLanguageFromName(code.c_str());
  for (const Found& found : search(text, hint))
    if (found.language == hint) return found;
  return {};
}

/// For a few words, of which CLD2 alone would find a language that is none of `languages`: compares the scores
/// that each of them has as a hint. Something speaks for a language whose score is above those of languages
/// that are not in question. A language's confidence is its share of the scores.
std::vector<DetectedLanguage> compare_with_hints(const std::string& text,
                                                 std::span<const std::string> languages) {
  constexpr const char* others[] = {"eu", "hy", "ko", "zh"};  // of several scripts
  const auto is_other = [&](const char* code) {
    return std::ranges::none_of(languages, [&](const std::string& known) { return base_of(known) == code; });
  };
  double least = 0, sum = 0;
  for (const char* code : others)
    if (const auto found = found_with_hint(text, code); found && is_other(code))
      least = std::max(least, found->score);
  std::vector<std::pair<double, DetectedLanguage>> scored;
  for (const std::string& code : languages)
    if (const auto found = found_with_hint(text, base_of(code)); found && found->score > least) {
      scored.push_back({found->score, {code, found->percent}});
      sum += found->score;
    }
  std::ranges::stable_sort(scored, std::greater(), [](const auto& one) { return one.first; });
  std::vector<DetectedLanguage> result;
  for (auto& [score, detected] : scored) {
    detected.confidence = static_cast<int>(std::lround(detected.confidence * score / sum));
    result.push_back(std::move(detected));
  }
  return result;
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
  if (result.empty()) result = compare_with_hints(part, languages);
  if (result.empty()) result.push_back({languages[0], 0});
  return result;
}

}  // namespace sixfold::serve
