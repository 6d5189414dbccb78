#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "data/check/finding.h"
#include "data/check/pair_faults.h"
#include "data/corpus.h"

namespace sixfold {

/// Statistics of fewer lines say nothing.
inline constexpr int64_t fewest_checked = 100;

/// A pair of lines with its place, "train.en:17"; where a text has single lines, the second is empty.
struct PlacedPair {
  LinePair lines;
  std::string place;

  std::string example() const;
};

/// A text of a run, and what reading it has shown.
struct SurveyedText {
  std::string key;        ///< "data.train"
  std::string_view unit;  ///< "pair" or "text"
  int64_t lines = 0;      ///< that were read
  int64_t empty = 0;      ///< that were left out, because a side is empty
  int64_t compared = 0;   ///< that are long enough to be compared with others
  int64_t repeated = 0;   ///< that are in the training text too, or earlier in it
  std::vector<std::string> repeats;
  std::vector<PlacedPair> sample;  ///< evenly spread over the text
  /// Numbers of lines by length, of sources and targets; all from `longest` on share a bin.
  std::vector<int64_t> characters[2], words[2];
  static constexpr int64_t longest = 1024;
  bool is_swapped = false;  ///< has the languages of the other sides, so that nothing else can be said of it

  std::vector<LinePair> sampled_lines() const;
  std::vector<std::string> examples() const;
  /// "12 of 1000 pairs (1.2%)"
  std::string share(int64_t part, int64_t all) const;
};

/// Reads the next pair of lines; false at the end.
using NextPair = std::function<bool(LinePair& pair)>;

/// How texts are read.
struct SurveySettings {
  std::string_view unit = "pair";
  bool labelled = false;           ///< the second of a pair is a label, which is not compared
  size_t shortest_compared = 0;    ///< bytes of the first, from which on lines are compared with each other
  int64_t most_lines = 2'000'000;  ///< that are read of a text
  bool is_compared = true;         ///< lines are compared with each other, by a hash of each in memory
  size_t most_sampled = 20'000, most_sampled_bytes = 32 << 20;  ///< of a text
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// Reads the texts of a run, training texts first. The lines that are kept as a sample are a function of the
/// text.
class TextSurvey {
 public:
  explicit TextSurvey(const SurveySettings& settings) : settings_(settings) {}

  /// `place` names the pair that was read last.
  SurveyedText read(std::string key, bool is_training, const NextPair& next,
                    const std::function<std::string()>& place);

 private:
  SurveySettings settings_;
  std::unordered_set<uint64_t> training_;  ///< hashes of its pairs
};

inline double share_of(int64_t part, int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

/// The languages that are given, if CLD2 knows them, or those that the names of both files say: "train.en".
PairLanguages declared_languages(PairLanguages given, const CorpusFiles& files);
/// Whether both are known, and not the same.
bool differ_languages(const std::string& found, const std::string& expected);

/// Reads test data by `read`. Training does not need them, so that an error is one more finding.
void read_test(const std::function<void()>& read, std::vector<Finding>& findings);

/// The length at which lines of a text were cut.
struct CutLength {
  bool of_target = false;
  bool in_words = false;  ///< otherwise in characters
  int64_t length = 0;
  int64_t lines = 0;  ///< that have it

  bool is_cut(const LinePair& pair) const;
};
/// At most one for each side: many lines are as long as the longest.
std::vector<CutLength> cuts_of(const SurveyedText& text);

/// What can be found in any kind of text; each appends to the findings.
/// Lines of the training text that repeat an earlier one.
void find_duplicates(const SurveyedText& train, std::string_view remedy, std::vector<Finding>& findings);
/// Lines of another text that are in the training text too.
void find_overlap(const SurveyedText& text, std::vector<Finding>& findings);
/// Another language on a side than expected. Also says whether the text is the other way round.
void find_languages(SurveyedText& text, const PairLanguages& found, const PairLanguages& expected,
                    std::vector<Finding>& findings);
/// Faults of single pairs, those that such lines can have.
void find_faults(const SurveyedText& text, const UsualPairs& usual, FaultScope scope,
                 std::vector<Finding>& findings);
/// Empty lines.
void find_empty(const SurveyedText& text, std::vector<Finding>& findings);
/// Lines that were cut at a length.
void find_cut(const SurveyedText& text, std::vector<Finding>& findings);

}  // namespace sixfold
