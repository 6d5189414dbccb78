#pragma once
#include <cstdint>
#include <string>
#include <vector>

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

/// What became of the pairs that were read.
struct CorpusReport {
  int64_t read = 0;
  int64_t empty = 0;     ///< dropped: a side has no text
  int64_t invalid = 0;   ///< dropped: a side was not valid UTF-8
  int64_t too_long = 0;  ///< dropped: a side has too many pieces
  int64_t replaced = 0;  ///< kept, with U+FFFD for what was not valid UTF-8

  int64_t kept() const { return read - empty - invalid - too_long; }
  /// "29000 pairs, 28990 kept; dropped: 3 with an empty side, 7 too long".
  std::string describe() const;
};

struct Corpus {
  ParallelText text;
  CorpusReport report;
};

/// Reads parallel texts, one after the other. Throws, with file and line, when a file is missing, both sides
/// have different numbers of lines (both are said), a line of a TSV has no second column, text is not valid
/// UTF-8 (as `invalid` says), a gzip stream is damaged, or no pair is left.
Corpus read_corpus(const std::vector<CorpusFiles>& files, InvalidUtf8 invalid = InvalidUtf8::error);

}  // namespace sixfold
