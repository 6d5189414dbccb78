#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/check/pair_faults.h"
#include "data/corpus.h"

namespace sixfold {

/// How parallel texts are cleaned.
struct CleanOptions {
  InvalidUtf8 invalid = InvalidUtf8::replace;
  /// Languages that are not given are taken from names such as train.en, or else detected in the text.
  PairLanguages languages;
  std::vector<std::string> keep;  ///< names of rules (`clean_rules`) that are not applied
  bool near_duplicates = false;   ///< also drop pairs with the same letters as an earlier pair, ignoring case
  bool mend = false;              ///< repair lines without loss (`mended`) before the rules are applied
  /// The part that is cleaned, from 1, of `parts` consecutive parts with about as many pairs each.
  int64_t part = 1, parts = 1;
  int threads = 1;                         ///< does not affect the result
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// A pair of a text that is being cleaned.
struct CleanedPair {
  LinePair lines;
  std::string place;      ///< "train.en:17"
  std::string_view rule;  ///< the first rule by which it is dropped; empty: it is kept
  bool is_mended = false;
};

/// What was done with the pairs of a part.
struct CleanReport {
  int64_t read = 0, kept = 0, mended = 0;                     ///< `mended` counts only pairs that were kept
  std::vector<std::pair<std::string_view, int64_t>> dropped;  ///< by rule, in the order of the rules
};
/// The report as a JSON object, with "dropped" as a nested object.
std::string to_json_text(const CleanReport& report);

/// The rules by which pairs are dropped, in the order in which they are applied. The first two are always
/// applied.
std::vector<std::string_view> clean_rules();

/// Cleans texts. They are read twice: first to find duplicates (also of pairs in an earlier text) and to learn
/// the statistics of each text from a sample, then to apply the rules to the pairs. `take` receives each pair
/// of the part, in order, with the index of its text. Which pairs are kept depends only on the texts and on the
/// options other than part and threads: the concatenation of all parts is the result of cleaning the texts as a
/// whole.
///
/// Memory is bounded: a few hundred megabytes, and one bit for each pair. A temporary file needs 8 bytes for
/// each pair. Throws as `PairReader`; an input error for an unknown rule or language, files that can't be read
/// twice or change meanwhile, and texts in other languages than expected.
CleanReport clean_corpus(const std::vector<CorpusFiles>& files, const CleanOptions& options,
                         const std::function<void(size_t text, const CleanedPair& pair)>& take);

}  // namespace sixfold
