#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "data/corpus_report.h"
#include "data/lines.h"
#include "data/pair_augmentation.h"
#include "data/tmx.h"
#include "text/word_links.h"

namespace sixfold {

/// The files of one parallel text. Either a source and a target file, in which line n of one is the translation
/// of line n of the other, or one file with both sides: tab-separated columns, or TMX (`is_tmx`). Each may be
/// gzipped.
struct CorpusFiles {
  std::string source, target;
  std::string tsv;                                         ///< given instead of source and target; may be TMX
  std::string source_language = {}, target_language = {};  ///< of the pairs in a TMX file
  /// A word that is put before each source when it is encoded (`encoded_source`), such as the token ">>de<<" of
  /// the target language; empty: none. `PairReader` does not add it.
  std::string first_word = {};
  /// A file with the weight of each pair, a number in each line; empty: 1 each. TMX can't have one.
  std::string weights = {};
  /// A file with the links between the words of each pair (`parse_word_links`); empty: none.
  std::string alignments = {};
};

/// Pairs of lines: `target[i]` is the translation of `source[i]`.
struct ParallelText {
  std::vector<std::string> source, target;

  int64_t size() const { return static_cast<int64_t>(source.size()); }
};

/// The pairs of a corpus, and the statistics of reading them.
struct Corpus {
  ParallelText text;
  CorpusReport report;
};

/// Reads the pairs of parallel texts, one after the other. Pairs with a blank side or the weight 0 are dropped,
/// as are those that are not valid UTF-8 if `invalid` is `InvalidUtf8::skip`. Throws an input error with file
/// and line if a file is missing, the two sides, weights or alignments have different numbers of lines, a line
/// of a TSV file has no second column, a weight is not a number, text is not valid UTF-8, or a gzip stream is
/// damaged, and also as `TmxReader` does.
class PairReader {
 public:
  /// Checks that all files exist and may be read, before any is read.
  PairReader(std::vector<CorpusFiles> files, InvalidUtf8 invalid, const PairAugmentation& augmentation = {});

  /// Reads the next pair, or returns an augmented copy of the last one (`PairAugmentation`). Returns false at
  /// the end of the last text.
  bool next(std::string& source, std::string& target);
  /// As `next`, but also returns the pairs that `next` drops. `dropped` is the reason, "invalid-utf8",
  /// "empty-lines" or "zero-weight", and empty for all other pairs.
  bool next_of_all(std::string& source, std::string& target, std::string_view& dropped);
  /// The weight of the pair that was read last; 1 if its text has no weights.
  float weight() const { return weight_; }
  /// The links between its words, sure and possible ones alike; none if its text has no alignments.
  const WordLinks& links() const { return links_; }
  /// The statistics of the pairs that were read so far.
  const CorpusReport& report() const { return report_; }
  /// The fraction of all bytes that was read, from 0 to 1.
  double fraction_read() const;
  /// The place of the pair that was read last: "train.en:17".
  std::string place() const { return tmx_ ? tmx_->place() : source_->place(); }

 private:
  bool read_line_pair(std::string& source, std::string& target, bool& valid);
  bool read_annotation(LineReader& reader, const std::string& name, const char* what, bool has_pair,
                       std::string& line) const;
  bool make_valid(std::string& line, const LineReader& reader) const;

  std::vector<CorpusFiles> files_;
  InvalidUtf8 invalid_;
  PairAugmentation augmentation_;
  /// The copies of the last pair that are still to be returned, in order.
  std::vector<std::pair<std::string, std::string>> copies_;
  size_t source_words_ = 0;  ///< the number of source words of the last pair, if it has links
  CorpusReport report_;
  size_t text_ = 0;
  std::unique_ptr<LineReader> source_, target_;       ///< of the current text; a TSV file uses only the first
  std::unique_ptr<LineReader> weights_, alignments_;  ///< of the current text; null: it has none
  float weight_ = 1;
  WordLinks links_;
  std::unique_ptr<TmxReader> tmx_;  ///< the current text, if it is TMX
};

/// The texts of a flat list: source, target, source, target, ..., or .tsv and .tmx files, the latter with pairs
/// between two languages. Throws an input error that names `key` if a file has no counterpart, or if the
/// languages of a TMX file are not known.
std::vector<CorpusFiles> corpus_files(const std::vector<std::string>& names, const std::string& key,
                                      const std::string& source_language = {},
                                      const std::string& target_language = {});

/// The source in the form that is encoded: with `first_word` before it, if there is one and the source does not
/// begin with it.
inline std::string encoded_source(const CorpusFiles& files, const std::string& source) {
  return files.first_word.empty() || source.starts_with(files.first_word) ? source
                                                                          : files.first_word + " " + source;
}

/// The name of a text for messages: "train.en, train.de".
std::string name_of(const CorpusFiles& files);

/// Reads all pairs into memory, with sources as `encoded_source` returns them. Throws as `PairReader`, and if
/// no pair is left.
Corpus read_corpus(const std::vector<CorpusFiles>& files, InvalidUtf8 invalid = InvalidUtf8::error);

/// Logs the progress of reading pairs, every ten seconds: "encoding the text: 12 %, 30000 pairs/s, 40 s left".
/// The first call starts its clock.
class ReadingProgress {
 public:
  /// `what` names the work in the log: "encoding the text".
  explicit ReadingProgress(std::string what) : what_(std::move(what)) {}

  /// To be called for each pair. `fraction_read` returns the fraction of the text that was read, from 0 to 1.
  template <class FractionRead>
  void update(const FractionRead& fraction_read) {
    if (pairs_++ == 0) start_ = last_logged_ = std::chrono::steady_clock::now();
    if (pairs_ % 1024 != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (std::chrono::duration<double>(now - last_logged_).count() < 10) return;
    last_logged_ = now;
    const double fraction = fraction_read(), elapsed = std::chrono::duration<double>(now - start_).count();
    log_info("{}: {:.0f} %, {:.0f} pairs/s, {:.0f} s left", what_, 100 * fraction,
             static_cast<double>(pairs_) / elapsed, fraction > 0 ? elapsed * (1 - fraction) / fraction : 0);
  }

 private:
  std::string what_;
  std::chrono::steady_clock::time_point start_, last_logged_;
  int64_t pairs_ = 0;
};

}  // namespace sixfold
