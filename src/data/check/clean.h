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
  /// Those that are not given are taken from names such as train.en, or else are those of most of the text.
  PairLanguages languages;
  std::vector<std::string> keep;  ///< rules (`clean_rules`) that are not applied
  bool near_duplicates = false;   ///< also drop pairs with the letters of an earlier one, whatever their case
  bool mend = false;              ///< mend lines where nothing is lost by it (`mended`), before they are judged
  int64_t part = 1, parts = 1;    ///< the part that is cleaned: as many pairs as others have, in order
  int threads = 1;                ///< does not affect the result
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// A pair of a text that is cleaned.
struct CleanedPair {
  LinePair lines;
  std::string place;      ///< "train.en:17"
  std::string_view rule;  ///< the first rule by which it is dropped; empty: it is kept
  bool is_mended = false;
};

/// What was done with the pairs of a part.
struct CleanReport {
  int64_t read = 0, kept = 0, mended = 0;                     ///< `mended` of those that were kept
  std::vector<std::pair<std::string_view, int64_t>> dropped;  ///< by rule, in the order of the rules
};
/// The report as an object of JSON, with "dropped" as an object of its own.
std::string to_json_text(const CleanReport& report);

/// The rules by which pairs are dropped, in the order in which they are asked. The first two always are.
std::vector<std::string_view> clean_rules();

/// Cleans texts, which are read twice: once to find duplicates (also of an earlier text) and to take a sample
/// of each text, from which is learned what is usual in it, and once to judge the pairs. `take` gets each pair
/// of the part, in order, with the number of its text. Which are kept is a function of the text and of the
/// options but for the part and the threads: the parts, one after the other, are the whole.
///
/// Memory is bounded: some hundred megabytes, and a bit for each pair; a temporary file has 8 bytes for each.
/// Throws as `PairReader`; an input error for an unknown rule or language, files that can't be read twice or
/// change meanwhile, and texts in other languages than expected.
CleanReport clean_corpus(const std::vector<CorpusFiles>& files, const CleanOptions& options,
                         const std::function<void(size_t text, const CleanedPair& pair)>& take);

}  // namespace sixfold
