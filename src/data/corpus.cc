#include "data/corpus.h"

#include <charconv>
#include <filesystem>
#include <string_view>
#include <tuple>

#include "base/error.h"
#include "base/plural.h"
#include "base/trim.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

bool is_blank(std::string_view text) {
  for (size_t i = 0; i < text.size();)
    if (!next_is_space(text, i)) return false;
  return true;
}

void check_files(const std::vector<CorpusFiles>& files) {
  require(!files.empty(), "no text files are given");
  for (const CorpusFiles& f : files) {
    if (!f.tsv.empty()) {
      require(f.source.empty() && f.target.empty(),
              "{}: a TSV file contains both sides of a corpus; remove {}{}", f.tsv, f.source, f.target);
      require_readable(f.tsv);
    } else {
      require(!f.source.empty() && !f.target.empty(),
              "{}{}: a corpus needs a source and a target file, or one TSV file", f.source, f.target);
      require_readable(f.source);
      require_readable(f.target);
    }
    for (const std::string& annotation : {f.weights, f.alignments}) {
      if (annotation.empty()) continue;
      require(!is_tmx(f.tsv), "{}: a translation memory has no lines to which those of {} could belong", f.tsv,
              annotation);
      require_readable(annotation);
    }
  }
}

float weight_of(const std::string& line, const LineReader& reader) {
  const std::string_view text = without_blanks(line);
  double weight = 0;
  const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), weight);
  require(
      fault == std::errc() && rest == text.data() + text.size() &&
          (weight == 0 || (weight >= 1e-9 && weight <= 1e9)),
      "{}: the line is not the weight of a pair; expected a number from 1e-9 to 1e9, or 0, which leaves the "
      "pair out",
      reader.place());
  return static_cast<float>(weight);
}

WordLinks links_of(const std::string& line, const LineReader& reader) {
  GoldLinks rated = parse_word_links(line, reader.place());
  rated.sure.insert(rated.sure.end(), rated.possible.begin(), rated.possible.end());
  return std::move(rated.sure);
}

}  // namespace

std::string name_of(const CorpusFiles& f) { return f.tsv.empty() ? f.source + ", " + f.target : f.tsv; }

std::vector<CorpusFiles> corpus_files(const std::vector<std::string>& names, const std::string& key,
                                      const std::string& source_language, const std::string& target_language) {
  std::vector<CorpusFiles> files;
  for (size_t i = 0; i < names.size();) {
    const std::string& name = names[i];
    if (name.ends_with(".tsv") || name.ends_with(".tsv.gz")) {
      files.push_back({.tsv = name});
      ++i;
      continue;
    }
    if (is_tmx(name)) {
      require(!source_language.empty() && !target_language.empty(),
              "{}: {} has texts in several languages; say which are the sources and the targets, by "
              "data.source_language and data.target_language of a config, or by --source-language and "
              "--target-language of sixfold corpus",
              key, name);
      files.push_back({.tsv = name, .source_language = source_language, .target_language = target_language});
      ++i;
      continue;
    }
    require(i + 1 < names.size(),
            "{}: {} has no target file; alternate source and target files, or give .tsv or .tmx files", key,
            name);
    files.push_back({.source = name, .target = names[i + 1]});
    i += 2;
  }
  return files;
}

PairReader::PairReader(std::vector<CorpusFiles> files, InvalidUtf8 invalid,
                       const PairAugmentation& augmentation)
    : files_(std::move(files)), invalid_(invalid), augmentation_(augmentation) {
  check_files(files_);
}

bool PairReader::next(std::string& source, std::string& target) {
  if (!copies_.empty()) {
    std::tie(source, target) = std::move(copies_.front());
    copies_.erase(copies_.begin());
    if (!links_.empty() && count_words(source) != source_words_)
      links_.clear();  // a typing error has removed a word of one letter, so that the links no longer fit
    ++report_.read;
    return true;
  }
  std::string_view dropped;
  do
    if (!next_of_all(source, target, dropped)) return false;
  while (!dropped.empty());
  copies_ = augmentation_.copies_of(source, target);
  if (!links_.empty()) {
    source_words_ = count_words(source);
    require_within(links_, source_words_, count_words(target), alignments_->place());
  }
  return true;
}

bool PairReader::next_of_all(std::string& source, std::string& target, std::string_view& dropped) {
  bool valid = true;
  if (!read_line_pair(source, target, valid)) return false;
  ++report_.read;
  dropped = {};
  if (!valid && invalid_ == InvalidUtf8::skip) {
    ++report_.invalid;
    dropped = "invalid-utf8";
  } else if (is_blank(source) || is_blank(target)) {
    ++report_.empty;
    dropped = "empty-lines";
  } else if (weight_ == 0) {
    ++report_.zero_weight;
    dropped = "zero-weight";
  } else {
    report_.replaced += !valid;
  }
  return true;
}

bool PairReader::read_line_pair(std::string& source, std::string& target, bool& valid) {
  for (;; source_.reset(), target_.reset(), weights_.reset(), alignments_.reset(), tmx_.reset(), ++text_) {
    if (text_ == files_.size()) return false;
    const CorpusFiles& files = files_[text_];
    weight_ = 1;
    links_.clear();
    if (is_tmx(files.tsv)) {
      if (!tmx_) tmx_ = std::make_unique<TmxReader>(files.tsv, files.source_language, files.target_language);
      if (tmx_->next(source, target)) return true;
      continue;
    }
    if (!source_) {
      source_ = std::make_unique<LineReader>(files.tsv.empty() ? files.source : files.tsv);
      if (files.tsv.empty()) target_ = std::make_unique<LineReader>(files.target);
      if (!files.weights.empty()) weights_ = std::make_unique<LineReader>(files.weights);
      if (!files.alignments.empty()) alignments_ = std::make_unique<LineReader>(files.alignments);
    }
    const bool has_source = source_->next(source), has_target = target_ ? target_->next(target) : has_source;
    if (has_source != has_target) {
      while (source_->next(source)) continue;
      while (target_->next(target)) continue;
      throw_input_error(
          "{} has {} but {} has {}; line n of one file must be the translation of line n of the other",
          files.source, counted(source_->line_number(), "line"), files.target, target_->line_number());
    }
    std::string annotation;
    if (weights_ && read_annotation(*weights_, files.weights, "a weight", has_source, annotation))
      weight_ = weight_of(annotation, *weights_);
    if (alignments_ && read_annotation(*alignments_, files.alignments, "an alignment", has_source, annotation))
      links_ = links_of(annotation, *alignments_);
    if (!has_source) {
      require(source_->line_number() > 0, "{}: is empty; expected one sentence on each line",
              target_ ? files.source : files.tsv);
      continue;
    }
    valid = make_valid(source, *source_);
    if (target_) {
      valid &= make_valid(target, *target_);
    } else {
      const size_t tab = source.find('\t');
      require(tab != source.npos, "{}: the line has no tab; expected two columns, source and target",
              source_->place());
      target = source.substr(tab + 1, source.find('\t', tab + 1) - tab - 1);
      source.resize(tab);
    }
    return true;
  }
}

/// Reads the line of the current pair from a file of weights or alignments. Returns whether there is a pair.
bool PairReader::read_annotation(LineReader& reader, const std::string& name, const char* what, bool has_pair,
                                 std::string& line) const {
  const bool has_line = reader.next(line);
  const std::string& text = files_[text_].tsv.empty() ? files_[text_].source : files_[text_].tsv;
  require(has_line || !has_pair, "{}: has {}, but {} has more; there must be {} for each line", name,
          counted(reader.line_number(), "line"), text, what);
  require(has_pair || !has_line, "{}: {} has no such line, only {}", reader.place(), text,
          source_->line_number());
  return has_pair;
}

/// Returns whether the line is valid, perhaps after replacing invalid bytes.
bool PairReader::make_valid(std::string& line, const LineReader& reader) const {
  const auto fault = fault_of_text(line);
  if (!fault) return true;
  require(invalid_ != InvalidUtf8::error,
          "{}: {}; convert the text, or choose --invalid-utf8 replace or skip (in training data.invalid_utf8)",
          reader.place(), *fault);
  line = replace_faults(line);
  return false;
}

double PairReader::fraction_read() const {
  double read = 0, all = 0;
  for (size_t i = 0; i < files_.size(); ++i) {
    const std::string& path = files_[i].tsv.empty() ? files_[i].source : files_[i].tsv;
    std::error_code ignored;
    const auto bytes = static_cast<double>(std::filesystem::file_size(path, ignored));
    if (ignored) continue;
    all += bytes;
    const double part = i < text_   ? 1
                        : i > text_ ? 0
                        : tmx_      ? tmx_->fraction_read()
                        : source_   ? source_->fraction_read()
                                    : 0;
    read += bytes * part;
  }
  return all > 0 ? read / all : 0;
}

Corpus read_corpus(const std::vector<CorpusFiles>& files, InvalidUtf8 invalid) {
  check_files(files);
  Corpus corpus;
  for (const CorpusFiles& text : files) {
    PairReader reader({text}, invalid);
    for (std::string source, target; reader.next(source, target);) {
      corpus.text.source.push_back(encoded_source(text, source));
      corpus.text.target.push_back(target);
    }
    corpus.report.add_reading(reader.report());
  }
  require(corpus.text.size() > 0, "{}{}: no pair of lines is left ({})", name_of(files[0]),
          files.size() > 1 ? ", ..." : "", corpus.report.describe());
  return corpus;
}

}  // namespace sixfold
