#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sixfold {

/// What became of the pairs of a corpus, and how long they are.
struct CorpusReport {
  int64_t read = 0;
  int64_t empty = 0;     ///< dropped: a side has no text
  int64_t invalid = 0;   ///< dropped: a side was not valid UTF-8
  int64_t too_long = 0;  ///< dropped: a side has too many tokens
  int64_t uneven = 0;    ///< dropped: one side has too many times the tokens of the other
  int64_t repeated = 0;  ///< dropped: the same pair stands further up
  int64_t repeats = 0;   ///< pairs that stand further up, dropped or not
  int64_t replaced = 0;  ///< kept, with U+FFFD for what was not valid UTF-8

  static constexpr int64_t longest = 1024;  ///< lengths from here on are one bin
  static constexpr int ratio_bins = 65;     ///< of log2(target / source): -4 to 4 by eighths
  std::vector<int64_t> source_lengths = std::vector<int64_t>(longest + 1);  ///< pairs by tokens
  std::vector<int64_t> target_lengths = std::vector<int64_t>(longest + 1);
  std::vector<int64_t> ratios = std::vector<int64_t>(ratio_bins);
  int64_t source_tokens = 0, target_tokens = 0;  ///< of what was measured, end symbols not counted

  int64_t kept() const { return read - empty - invalid - too_long - uneven - repeated; }
  /// Adds a pair to lengths and ratios.
  void measure(int64_t source, int64_t target);
  /// The middle of a bin of `ratios`, as target / source.
  static double ratio_of_bin(int bin);
  /// "29000 pairs, 28990 kept; dropped: 3 with an empty side, 7 too long".
  std::string describe() const;
};

/// The report as a JSON object, and back. Throws an input error that names `where`.
std::string to_json_text(const CorpusReport& report);
CorpusReport parse_corpus_report(const std::string& json, const std::string& where);

}  // namespace sixfold
