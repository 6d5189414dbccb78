#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/check/line_faults.h"
#include "data/check/word_translations.h"

namespace sixfold {

/// The languages of the two sides of a text; empty if unknown.
struct PairLanguages {
  std::string source, target;
};

/// Statistics of the pairs of a text, learned from a sample: languages, scripts and the usual ratio of lengths.
class PairStatistics {
 public:
  /// `declared`: the known languages. Unknown ones are detected in the sample.
  PairStatistics(std::span<const LinePair> sample, const PairLanguages& declared);

  /// The languages that were detected in the sample.
  const PairLanguages& detected() const { return detected_; }
  /// The declared languages, or else those detected.
  const PairLanguages& languages() const { return expected_; }
  int script(bool of_source) const { return of_source ? source_script_ : target_script_; }
  /// The factor, at least 1, by which the target is longer or shorter, in characters, than usual for a source
  /// of this length.
  double unevenness(const LinePair& pair) const;
  /// Whether the target of a pair is its source, and that is a fault. Within one language, as in a text of
  /// corrections, it is none unless nearly all are copies. Short texts may be names, unless most are copies.
  bool is_copy(const LinePair& pair) const;

 private:
  PairLanguages detected_, expected_;
  int source_script_ = -1, target_script_ = -1;
  double usual_log_ratio_ = 0;
  bool copies_are_faults_ = true, short_copies_are_faults_ = false;
};

/// The number of blocks of text in each language, in the sources of a sample.
std::map<std::string, int> language_votes(std::span<const LinePair> sample);

/// What a fault is a property of: any line, a line that is a whole text, or a source with its target.
enum class FaultScope { line, text, pair };

/// A kind of fault of a pair: a row of the table that checks and cleaning share.
struct PairFault {
  std::string_view id;  ///< "copies"
  FaultScope scope;
  /// What such pairs are, after "12 of 1000 pairs (1.2%)": "have a target that is the source".
  std::string_view what;
  std::string_view advice;  ///< why it matters, and what to do about it
  double tolerated;         ///< share of the pairs of a text that may have the fault without a warning
  double max_share;         ///< share of the pairs above which another finding says more
  bool (*applies)(const LinePair& pair, const PairStatistics& statistics);
};

/// All kinds of faults, in the order in which `clean_corpus` tests them.
std::span<const PairFault> pair_faults();

/// Whether a text is long enough that a copy of it is hardly a correct translation. Short ones may be names.
bool is_to_be_translated(const std::string& text);

/// A text with one space between words, and the same in lower case, which is the form in which repeated lines
/// are compared.
std::string as_words(std::string_view text);
std::string comparison_form(std::string_view text);
/// Only the letters of a text and their combining marks.
std::string letters_of(std::string_view text);
/// `comparison_form` without white space, which separates the punctuation of tokenized text.
std::string without_spaces(std::string_view text);

}  // namespace sixfold
