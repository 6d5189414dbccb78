#include "serve/api/detect.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "text/language.h"

namespace sixfold::serve {
namespace {

std::string base_of(const std::string& code) { return code.substr(0, code.find('-')); }

/// The index of the language that CLD2 found in `languages`, or -1. CLD2 has the codes "zh" and "zh-Hant" for
/// Chinese, and "no" for Bokmål.
int index_of(const std::string& code, std::span<const std::string> languages) {
  for (size_t i = 0; i < languages.size(); ++i)
    if (languages[i] == code) return static_cast<int>(i);
  for (size_t i = 0; i < languages.size(); ++i) {
    const std::string base = base_of(languages[i]);
    if (base == base_of(code) || (code == "no" && (base == "nb" || base == "nn"))) return static_cast<int>(i);
  }
  return -1;
}

/// The result of CLD2 with the hint that the text is probably in this language; nothing if CLD2 finds only
/// other languages nevertheless.
std::optional<LanguageShare> found_with_hint(const std::string& text, const std::string& code) {
  for (const LanguageShare& found : find_languages(text, code, /*few_words=*/true).languages)
    if (found.is_hint) return found;
  return {};
}

/// For a few words, for which CLD2 without a hint finds none of `languages`: compares the scores of the
/// languages when each is given as the hint. A language is returned if its score is above those of some
/// unrelated languages. Its confidence is its share of the sum of scores.
std::vector<DetectedLanguage> compare_with_hints(const std::string& text,
                                                 std::span<const std::string> languages) {
  constexpr const char* unrelated[] = {"eu", "hy", "ko", "zh"};  // languages of several scripts
  const auto is_unrelated = [&](const char* code) {
    return std::ranges::none_of(languages, [&](const std::string& known) { return base_of(known) == code; });
  };
  double threshold = 0, sum = 0;
  for (const char* code : unrelated)
    if (const auto found = found_with_hint(text, code); found && is_unrelated(code))
      threshold = std::max(threshold, found->score);
  std::vector<std::pair<double, DetectedLanguage>> scored;
  for (const std::string& code : languages)
    if (const auto found = found_with_hint(text, base_of(code)); found && found->score > threshold) {
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
  constexpr size_t max_detection_bytes = 10'000;  // the beginning of a long text is enough
  std::string part = text.substr(0, max_detection_bytes);
  while (part.size() < text.size() && !part.empty() &&
         (static_cast<unsigned char>(text[part.size()]) & 0xC0) == 0x80)
    part.pop_back();  // do not split a character
  std::vector<DetectedLanguage> result;
  for (const LanguageShare& found : find_languages(part, "", /*few_words=*/true).languages)
    if (const int index = index_of(found.code, languages); index >= 0) {
      const std::string& code = languages[static_cast<size_t>(index)];
      const auto same = [&](const DetectedLanguage& other) { return other.language == code; };
      if (std::none_of(result.begin(), result.end(), same)) result.push_back({code, found.percent});
    }
  if (result.empty()) result = compare_with_hints(part, languages);
  if (result.empty()) result.push_back({languages[0], 0});
  return result;
}

}  // namespace sixfold::serve
