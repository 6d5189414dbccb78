#include "data/corpus.h"

#include <string_view>

#include "base/error.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\v\f\r") == text.npos; }

class CorpusReader {
 public:
  explicit CorpusReader(InvalidUtf8 invalid) : invalid_(invalid) {}

  void read(const CorpusFiles& files) {
    if (files.tsv.empty()) {
      read_two(files.source, files.target);
    } else {
      read_tsv(files.tsv);
    }
  }

  Corpus take() { return std::move(corpus_); }

 private:
  void read_two(const std::string& source_path, const std::string& target_path) {
    LineReader source_lines(source_path), target_lines(target_path);
    std::string source, target;
    while (true) {
      const bool has_source = source_lines.next(source), has_target = target_lines.next(target);
      if (has_source != has_target) {
        while (source_lines.next(source)) continue;
        while (target_lines.next(target)) continue;
        throw_input_error("{} has {} lines but {} has {}; line by line they must be translations of each other",
                          source_path, source_lines.line_number(), target_path, target_lines.line_number());
      }
      if (!has_source) return;
      const bool valid = make_valid(source, source_lines) & make_valid(target, target_lines);
      add(source, target, valid);
    }
  }

  void read_tsv(const std::string& path) {
    LineReader lines(path);
    for (std::string line; lines.next(line);) {
      const bool valid = make_valid(line, lines);
      const size_t tab = line.find('\t');
      require(tab != line.npos, "{}: there is no tab; a line must have two columns, source and target",
              lines.place());
      add(line.substr(0, tab), line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1), valid);
    }
  }

  // Whether the line was valid UTF-8.
  bool make_valid(std::string& line, const LineReader& reader) const {
    const auto bad = first_invalid_utf8(line);
    if (!bad) return true;
    require(invalid_ != InvalidUtf8::error,
            "{}: byte {} is not valid UTF-8; convert the file, or set data.invalid_utf8 (--invalid-utf8) to "
            "replace or skip",
            reader.place(), *bad + 1);
    line = replace_invalid_utf8(line);
    return false;
  }

  void add(const std::string& source, const std::string& target, bool valid) {
    CorpusReport& report = corpus_.report;
    ++report.read;
    if (!valid && invalid_ == InvalidUtf8::skip) {
      ++report.invalid;
    } else if (is_blank(source) || is_blank(target)) {
      ++report.empty;
    } else {
      report.replaced += !valid;
      corpus_.text.source.push_back(source);
      corpus_.text.target.push_back(target);
    }
  }

  InvalidUtf8 invalid_;
  Corpus corpus_;
};

void check_files(const std::vector<CorpusFiles>& files) {
  require(!files.empty(), "no corpus is given");
  for (const CorpusFiles& f : files) {
    if (!f.tsv.empty()) {
      require(f.source.empty() && f.target.empty(), "{}: a TSV holds both sides; {}{} can't stand beside it",
              f.tsv, f.source, f.target);
      require_readable(f.tsv);
    } else {
      require(!f.source.empty() && !f.target.empty(), "{}{}: a corpus needs a file for each side, or one TSV",
              f.source, f.target);
      require_readable(f.source);
      require_readable(f.target);
    }
  }
}

std::string name_of(const CorpusFiles& f) { return f.tsv.empty() ? f.source + ", " + f.target : f.tsv; }

}  // namespace

std::string CorpusReport::describe() const {
  std::string dropped;
  const auto mention = [&](int64_t count, std::string_view what) {
    if (count > 0) dropped += fmt::format("{}{} {}", dropped.empty() ? "; dropped: " : ", ", count, what);
  };
  mention(empty, "with an empty side");
  mention(invalid, "not valid UTF-8");
  mention(too_long, "too long");
  std::string line = fmt::format("{} pairs, {} kept{}", read, kept(), dropped);
  if (replaced > 0) line += fmt::format("; bad UTF-8 replaced in {}", replaced);
  return line;
}

Corpus read_corpus(const std::vector<CorpusFiles>& files, InvalidUtf8 invalid) {
  check_files(files);  // all of them, before minutes go into reading the first
  CorpusReader reader(invalid);
  for (const CorpusFiles& f : files) reader.read(f);
  Corpus corpus = reader.take();
  require(corpus.text.size() > 0, "{}{}: the corpus is empty ({})", name_of(files[0]),
          files.size() > 1 ? ", ..." : "", corpus.report.describe());
  return corpus;
}

}  // namespace sixfold
