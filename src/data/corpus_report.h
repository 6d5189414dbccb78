#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sixfold {

/// The maximum share of unknown tokens in a text that a vocabulary fits.
inline constexpr double max_unknown_share = 0.1;

/// Statistics of a corpus: how many pairs were read, dropped and why, and histograms of their lengths.
struct CorpusReport {
  int64_t read = 0;         ///< all pairs
  int64_t empty = 0;        ///< dropped: a side is blank
  int64_t invalid = 0;      ///< dropped: a side was not valid UTF-8
  int64_t zero_weight = 0;  ///< dropped: the weight is 0
  int64_t too_long = 0;     ///< dropped: a side has too many tokens
  int64_t uneven = 0;       ///< dropped: the ratio of the lengths is too large
  int64_t repeated = 0;     ///< dropped: repeats an earlier pair
  int64_t repeats = 0;      ///< pairs that repeat an earlier one, dropped or not
  int64_t replaced = 0;     ///< kept after invalid UTF-8 was replaced by U+FFFD

  static constexpr int64_t longest = 1024;  ///< all lengths from this one on share a bin
  static constexpr int ratio_bins = 65;     ///< of log2(target / source), from -4 to 4 in steps of 1/8
  /// The number of pairs by length in tokens.
  std::vector<int64_t> source_lengths = std::vector<int64_t>(longest + 1);
  std::vector<int64_t> target_lengths = std::vector<int64_t>(longest + 1);
  std::vector<int64_t> ratios = std::vector<int64_t>(ratio_bins);
  int64_t source_tokens = 0, target_tokens = 0;    ///< of the measured pairs, without end tokens
  int64_t source_unknown = 0, target_unknown = 0;  ///< of these, tokens that are not in the vocabulary

  int64_t kept() const { return read - empty - invalid - zero_weight - too_long - uneven - repeated; }
  /// Adds what was counted while another text was read.
  void add_reading(const CorpusReport& other);
  /// Adds a pair with these lengths to the histograms.
  void measure(int64_t source, int64_t target);
  /// The centre of a bin of `ratios`, as target / source.
  static double ratio_of_bin(int bin);
  /// The share of the tokens of a side that are not in the vocabulary.
  double source_unknown_share() const { return share(source_unknown, source_tokens); }
  double target_unknown_share() const { return share(target_unknown, target_tokens); }
  /// "29000 pairs, 28990 kept; dropped: 3 with an empty side, 7 too long".
  std::string describe() const;

 private:
  static double share(int64_t part, int64_t all) {
    return static_cast<double>(part) / static_cast<double>(all > 0 ? all : 1);
  }
};

/// Convert a report to a JSON object and back. Parsing throws an input error that begins with `where`.
std::string to_json_text(const CorpusReport& report);
CorpusReport parse_corpus_report(const std::string& json, const std::string& where);

}  // namespace sixfold
