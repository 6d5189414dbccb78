#include "data/labelled_text.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/nearest.h"
#include "base/threads.h"
#include "base/trim.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// A labelled text, before and after it is encoded.
struct Labelled {
  int32_t label;
  std::string text;
  std::vector<int32_t> ids = {};
};

int32_t label_id(const std::string& label, const std::vector<std::string>& labels,
                 const LabelledReader& reader) {
  const auto found = std::ranges::lower_bound(labels, label);
  if (found == labels.end() || *found != label)
    throw_input_error("{}: the label '{}' does not occur in the training data{}", reader.place(), label,
                      suggestion(label, labels));
  return static_cast<int32_t>(found - labels.begin());
}

}  // namespace

LabelledReader::LabelledReader(std::vector<std::string> files, InvalidUtf8 invalid)
    : files_(std::move(files)), invalid_(invalid) {
  for (const std::string& file : files_) require_readable(file);
}

bool LabelledReader::next_line(std::string& line) {
  while (file_ < files_.size()) {
    if (!reader_) reader_ = std::make_unique<LineReader>(files_[file_]);
    if (reader_->next(line)) return true;
    reader_.reset();
    ++file_;
  }
  return false;
}

bool LabelledReader::next(std::string& label, std::string& text) {
  std::string line;
  while (next_line(line)) {
    make_valid(line, *reader_, invalid_);
    if (!has_visible_character(line)) continue;
    const size_t tab = line.find('\t');
    require(tab != line.npos, "{}: expected a label, a tab and a text, but there is no tab", place());
    label = without_blanks(std::string_view(line).substr(0, tab));
    text = line.substr(tab + 1);
    require(!label.empty(), "{}: there is no label before the tab", place());
    require(has_visible_character(text), "{}: there is no text after the label '{}'", place(), label);
    bytes_ += std::ssize(text);
    return true;
  }
  return false;
}

std::vector<std::string> labels_of(const std::vector<std::string>& files, InvalidUtf8 invalid,
                                   const std::atomic<int>* stop) {
  LabelledReader reader(files, invalid);
  constexpr size_t max_labels = 10'000, max_bytes = 500'000;  // labels are stored in config.json
  std::set<std::string> labels;
  size_t bytes = 0;
  for (std::string label, text; reader.next(label, text);) {
    throw_if_stopped(stop);
    if (!labels.insert(label).second) continue;
    bytes += label.size();
    require(
        labels.size() <= max_labels && bytes <= max_bytes,
        "{}: there are more than {} different labels, or they have more than {} bytes; is the first column the "
        "label?",
        reader.place(), max_labels, max_bytes);
  }
  return {labels.begin(), labels.end()};
}

EncodeFiles labelled_encoder(const Tokenizer& tokenizer, const std::vector<std::string>& labels,
                             InvalidUtf8 invalid, int threads) {
  return [&tokenizer, labels, invalid, threads](const std::vector<std::string>& files, SequenceSink& sink) {
    constexpr size_t block_lines = 4096;
    LabelledReader reader(files, invalid);
    ThreadPool pool(threads);
    std::vector<Labelled> block;
    const auto encode_block = [&] {
      pool.run(std::ssize(block), [&](int64_t i, int) {
        Labelled& one = block[static_cast<size_t>(i)];
        one.ids = tokenizer.encode(one.text);
      });
      for (const Labelled& one : block) {
        sink.append_number(one.label);
        sink.append(one.ids);
        sink.end();
      }
      block.clear();
    };
    for (std::string label, text; reader.next(label, text);) {
      block.push_back({label_id(label, labels, reader), text});
      if (block.size() == block_lines) encode_block();
    }
    encode_block();
    return reader.bytes();
  };
}

}  // namespace sixfold
