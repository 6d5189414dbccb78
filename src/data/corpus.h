#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/corpus_report.h"
#include "data/lines.h"

namespace sixfold {

/// One parallel text: two files whose lines belong together, or one whose first two columns, parted by tabs,
/// do. Each may be gzipped.
struct CorpusFiles {
  std::string source, target;
  std::string tsv;  ///< given instead of the two
};

/// Pairs of lines: `source[i]` belongs to `target[i]`.
struct ParallelText {
  std::vector<std::string> source, target;

  int64_t size() const { return static_cast<int64_t>(source.size()); }
};

struct Corpus {
  ParallelText text;
  CorpusReport report;
};

/// The pairs of parallel texts, one after the other. Pairs without text on a side, or (as `invalid` says) not
/// in UTF-8, are left out. Throws, with file and line, when a file is missing, both sides have different
/// numbers of lines (both are said), a line of a TSV has no second column, text is not valid UTF-8, or a gzip
/// stream is damaged.
class PairReader {
 public:
  /// Looks whether all files are there before any is read.
  PairReader(std::vector<CorpusFiles> files, InvalidUtf8 invalid);

  /// False at the end of the last.
  bool next(std::string& source, std::string& target);
  /// Of what was read so far.
  const CorpusReport& report() const { return report_; }
  /// The part of all bytes that was read, from 0 to 1.
  double part_read() const;

 private:
  bool read_line_pair(std::string& source, std::string& target, bool& valid);
  bool make_valid(std::string& line, const LineReader& reader) const;

  std::vector<CorpusFiles> files_;
  InvalidUtf8 invalid_;
  CorpusReport report_;
  size_t text_ = 0;
  std::unique_ptr<LineReader> source_, target_;  ///< of the text at hand; of a TSV only the first
};

/// The texts of a flat list: source, target, source, target, ... or .tsv files. Errors name `key`.
std::vector<CorpusFiles> corpus_files(const std::vector<std::string>& names, const std::string& key);

/// "train.en, train.de"
std::string name_of(const CorpusFiles& files);

/// All pairs in memory. Throws as `PairReader`, and when no pair is left.
Corpus read_corpus(const std::vector<CorpusFiles>& files, InvalidUtf8 invalid = InvalidUtf8::error);

}  // namespace sixfold
