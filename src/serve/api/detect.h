#pragma once
#include <span>
#include <string>
#include <vector>

namespace sixfold::serve {

struct DetectedLanguage {
  std::string language;
  int confidence = 0;  ///< from 0 to 100
};

/// Finds the language of a text among `languages`, which must not be empty: the most likely first, those
/// without any sign left out. If there is no sign of any, the first one with confidence 0; the order of
/// `languages` matters for nothing else. By CLD2, which compares runs of four letters; for a few words it is
/// often wrong.
std::vector<DetectedLanguage> detect_language(const std::string& text, std::span<const std::string> languages);

}  // namespace sixfold::serve
