#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/check/line_faults.h"
#include "data/check/word_translations.h"

namespace sixfold {

/// The languages of the two sides of a text; empty: not known.
struct PairLanguages {
  std::string source, target;
};

/// What the pairs of a text are like, learned from a sample of them.
class UsualPairs {
 public:
  /// `declared`: the languages as far as they are known; otherwise they are those that most of the sample has.
  UsualPairs(std::span<const LinePair> sample, const PairLanguages& declared);

  const PairLanguages& found() const { return found_; }         ///< the languages of the sample
  const PairLanguages& languages() const { return expected_; }  ///< those declared, or found
  int script(bool of_source) const { return of_source ? source_script_ : target_script_; }
  /// By how many times the target is longer or shorter, in characters, than is usual for such a source; at
  /// least 1.
  double unevenness(const LinePair& pair) const;

 private:
  PairLanguages found_, expected_;
  int source_script_ = -1, target_script_ = -1;
  double usual_log_ratio_ = 0;
};

/// What has a fault: any line, a line that is a whole text, or a source with its target.
enum class FaultScope { line, text, pair };

/// A way in which one pair may be wrong: a row of the table that checks and filters share.
struct PairFault {
  std::string_view id;  ///< "copies"
  FaultScope scope;
  std::string_view
      what;  ///< what such pairs are, after "12 of 1000 pairs (1.2%)": "have a target that is the source"
  std::string_view advice;  ///< why it matters, and what to do about it
  double tolerated;         ///< share of the pairs of a text that may be so without a warning
  double most;              ///< share above which another finding says more
  bool (*of)(const LinePair& pair, const UsualPairs& usual);
};

/// All of them, in the order in which a filter asks.
std::span<const PairFault> pair_faults();

/// A text with one space between words, and the same in lower case, as repeated lines are compared.
std::string as_words(std::string_view text);
std::string as_compared(std::string_view text);
/// The letters of a text and their marks alone.
std::string letters_of(std::string_view text);

}  // namespace sixfold
