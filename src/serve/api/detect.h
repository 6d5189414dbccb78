#pragma once
#include <span>
#include <string>
#include <vector>

namespace sixfold::serve {

struct DetectedLanguage {
  std::string language;
  int confidence = 0;  ///< from 0 to 100
};

/// Detects the language of a text by CLD2, which compares letter 4-grams and is often wrong for a few words.
/// Returns those of `languages`, which must not be empty, for which there is evidence, the most likely first.
/// If there is no evidence for any, returns the first of `languages` with confidence 0; otherwise their order
/// has no effect.
std::vector<DetectedLanguage> detect_language(const std::string& text, std::span<const std::string> languages);

}  // namespace sixfold::serve
