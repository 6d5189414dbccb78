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

/// Statistics of fewer lines are not reliable.
inline constexpr int64_t min_checked_lines = 100;

/// A pair of lines with its place, "train.en:17". If a text has single lines, the second is empty.
struct LocatedPair {
  LinePair lines;
  std::string place;

  std::string example() const;
};

/// A text of a run, and the statistics of reading it.
struct SurveyedText {
  std::string key;        ///< "data.train"
  std::string_view unit;  ///< "pair" or "text"
  int64_t lines = 0;      ///< lines that were read
  int64_t empty = 0;      ///< lines that were left out because a side is empty
  std::vector<std::string> empty_examples = {};
  int64_t compared = 0;  ///< lines that are long enough to be compared with others
  /// Lines that another text has too.
  struct Repeats {
    int64_t lines = 0;
    std::vector<std::string> examples = {};
  };
  Repeats repeated;                 ///< lines that repeat a line of the training text, or an earlier one in it
  Repeats in_other;                 ///< lines of test data that are in the validation data
  std::vector<LocatedPair> sample;  ///< evenly spread over the text
  /// The numbers of lines by length, for sources and for targets. All lengths from `longest` on share a bin.
  std::vector<int64_t> characters[2], words[2];
  static constexpr int64_t longest = 16'384;
  bool is_swapped = false;  ///< whether source and target are swapped, so that no other check is possible

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
  bool labelled = false;  ///< whether the second of a pair is a label, which is not compared
  /// Minimum bytes of the first line of the pairs that are compared with each other.
  size_t min_compared_bytes = 0;
  int64_t max_lines = 2'000'000;  ///< maximum number of lines that are read of a text
  bool is_compared = true;        ///< whether lines are compared with each other, by a hash of each in memory
  size_t max_sampled = 20'000, max_sampled_bytes = 32 << 20;  ///< limits of the sample of a text
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// Reads the texts of a run, training texts first. The sample is a function of the text.
class TextSurvey {
 public:
  explicit TextSurvey(const SurveySettings& settings) : settings_(settings) {}

  /// `place` names the pair that was read last.
  SurveyedText read(std::string key, bool is_training, const NextPair& next,
                    const std::function<std::string()>& place);

 private:
  SurveySettings settings_;
  /// Hashes of the pairs of the training texts in lower case, and others of them as they are written.
  std::unordered_set<uint64_t> training_;
  std::unordered_set<uint64_t> other_;  ///< hashes of the other texts that were read before
};

inline double share_of(int64_t part, int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

/// The languages that are given, if CLD2 knows them, or else those in the names of both files, such as
/// "train.en".
PairLanguages declared_languages(PairLanguages given, const CorpusFiles& files);
/// Whether both languages are known and differ.
bool languages_differ(const std::string& found, const std::string& expected);

/// Calls `read`, which reads test data. Training does not need them, so an error becomes a finding.
void read_test(const std::function<void()>& read, std::vector<Finding>& findings);

/// The length at which lines of a text were cut.
struct CutLength {
  bool of_target = false;
  bool in_words = false;  ///< otherwise in characters
  int64_t length = 0;
  int64_t lines = 0;  ///< number of lines of this length

  bool is_cut(const LinePair& pair) const;
};
/// The lengths at which lines were cut, at most one for each side. A sign of it is that many lines have the
/// greatest length.
std::vector<CutLength> find_cut_lengths(const SurveyedText& text);

/// A sentence that is the target of many different sources, or the source of many targets: a placeholder, or
/// lines that were lost.
struct RepeatedSide {
  bool of_target = false;
  std::string form;                       ///< `comparison_form`
  std::vector<const LocatedPair*> pairs;  ///< those of the sample, with different other sides

  bool is_in(const LinePair& pair) const;
};
/// The repeated sides of a text, most frequent first. They have at least 20 characters, since short answers go
/// with many sources, and more than 1% of the sample, at least 20 pairs. They point to the text.
std::vector<RepeatedSide> find_repeated_sides(const SurveyedText& text);

/// The checks of any kind of text. Each appends to the findings. Finds lines of the training text that repeat
/// an earlier one.
void find_duplicates(const SurveyedText& train, std::string_view remedy, std::vector<Finding>& findings);
/// Finds lines of another text that are in the training text too, or in one that was read before.
void find_overlap(const SurveyedText& text, std::vector<Finding>& findings);
/// Finds a side in another language than expected. Sets `is_swapped` if source and target are swapped.
/// `setting`: what declares the languages.
void find_languages(SurveyedText& text, const PairLanguages& found, const PairLanguages& expected,
                    std::string_view setting, std::vector<Finding>& findings);
/// Finds faults of single pairs, of the kinds that apply to `scope`.
void find_faults(const SurveyedText& text, const PairStatistics& statistics, FaultScope scope,
                 std::vector<Finding>& findings);
/// Finds empty lines.
void find_empty(const SurveyedText& text, std::vector<Finding>& findings);
/// Finds repeated sides.
void find_repeated(const SurveyedText& text, std::vector<Finding>& findings);
/// Finds lines that were cut at a fixed length.
void find_cut(const SurveyedText& text, std::vector<Finding>& findings);

}  // namespace sixfold
