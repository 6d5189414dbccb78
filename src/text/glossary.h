#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/api.h"

namespace sixfold {

struct GlossaryEntry {
  std::string source, target;

  bool operator==(const GlossaryEntry&) const = default;
};

/// Phrases with their translations. Phrases are compared word by word (`phrase_words`), in the normalization
/// form C. So "cat" is not found in "cats", and white space is ignored.
/// A source phrase without a capital letter is found in any case; others are found as they are written, and in
/// a text in capitals (`is_in_capitals`) in any case. Safe to share between threads.
class SIXFOLD_API Glossary {
 public:
  /// Limits of a glossary.
  static constexpr size_t most_entries = 100'000;
  static constexpr size_t longest_phrase = 1024;  ///< in bytes
  static constexpr size_t most_words = 64;        ///< of a source phrase

  /// Throws an input error that names the entry if one of its phrases is empty, too long, not valid UTF-8 or
  /// has a control character, if a source phrase has too many words or occurs twice, or if there are too many
  /// entries or none.
  explicit Glossary(std::vector<GlossaryEntry> entries);
  /// Reads lines of source phrase, tab and target phrase; blank lines and a byte order mark are left out.
  /// `name` is the name of the text in messages. Throws an input error, with the line if there is not one tab.
  static Glossary from_tsv(std::string_view text, const std::string& name);

  /// Returns the translations of the source phrases in a text, in order, each as often as it occurs. Of phrases
  /// that overlap, only the first is found; of phrases that begin at the same word, only the longest.
  std::vector<std::string> targets_in(std::string_view text) const;

  const std::vector<GlossaryEntry>& entries() const { return entries_; }
  /// The text from which `from_tsv` reads the same glossary.
  std::string to_tsv() const;

 private:
  void add(size_t entry);

  std::vector<GlossaryEntry> entries_;
  std::unordered_map<std::string, size_t> as_written_, in_any_case_;  // indices of entries by the source phrase
  std::unordered_map<std::string, size_t> in_capitals_;               // those of `as_written_` in any case
  size_t longest_ = 0;  // the number of words of the longest source phrase
};

}  // namespace sixfold
