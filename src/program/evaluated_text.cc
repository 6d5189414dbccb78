#include "program/evaluated_text.h"

#include <algorithm>

#include "base/error.h"
#include "base/join.h"
#include "base/log.h"
#include "data/image_reader.h"
#include "metrics/classification.h"
#include "program/kit/label_files.h"
#include "program/kit/text_io.h"
#include "program/squad_answers.h"
#include "text/utf8.h"

namespace sixfold::cli {
namespace {

/// Reads a text as sacreBLEU does: a byte order mark is a character of the first line and lowers its score.
std::vector<std::string> read_text(const std::string& path, const EvaluatedFiles& files) {
  const bool compares_text = !files.compares_only(LineContent::label);
  if (!compares_text)
    if (auto labels = read_idx_labels(readable_path(path))) return *labels;
  std::vector<std::string> lines = read_lines(readable_path(path), files.invalid, ByteOrderMark::keep);
  require(!lines.empty(), "{}: is empty; expected one sentence on each line", text_name(path));
  if (compares_text && lines[0].starts_with(byte_order_mark))
    log_warning(
        "{} begins with a byte order mark (U+FEFF), which counts as a character of the first line, as in "
        "sacreBLEU; remove the first three bytes of the file to score the text without it",
        text_name(path));
  return lines;
}

/// Reads the right answers of SQuAD's JSON, and predictions by id.
EvaluatedText read_squad_texts(const EvaluatedFiles& files, const std::vector<System>& systems) {
  for (const MetricEntry* row : files.rows)
    require(row->content == LineContent::answer, "--metric {}: can't compare answers in JSON; choose {}",
            row->name, join(metric_names(metric_table(), LineContent::answer), " or "));
  require(files.references.size() == 1, "--reference: there are {} files, but one JSON file has all answers",
          files.references.size());
  const SquadAnswers answers = read_squad_answers(files.references[0], files.invalid);
  EvaluatedText text{.systems = {}, .references = answers.references};
  for (const System& system : systems) {
    auto& runs = text.systems.emplace_back();
    for (const std::string& path : system) runs.push_back(read_predictions(path, answers));
  }
  return text;
}

/// The part of a line that a metric compares. A label ends at the first tab. An answer begins after the last
/// tab in a reference, as in training data, but ends at the first tab in an output, as 'sixfold answer' writes
/// it.
std::string compared_part(const std::string& line, LineContent content, bool reference) {
  switch (content) {
    case LineContent::text:
      return line;
    case LineContent::label:
      return label_of(line);
    case LineContent::answer:
      return reference ? line.substr(line.rfind('\t') + 1) : line.substr(0, line.find('\t'));
  }
  throw_unknown("content of lines", content);
}

/// Throws an input error that names the line if a metric compares labels, or answers, and a reference has none.
/// A hypothesis may be empty; it counts as wrong.
void require_references(const std::vector<std::string>& lines, const std::string& path, LineContent content) {
  if (content == LineContent::text) return;
  for (size_t i = 0; i < lines.size(); ++i)
    require(has_visible_character(compared_part(lines[i], content, /*reference=*/true)),
            "{}:{}: has no {} to compare with; remove the line here and in the other files, or complete it",
            text_name(path), i + 1, content == LineContent::label ? "label" : "answer");
}

}  // namespace

bool EvaluatedFiles::compares_only(LineContent content) const {
  return std::ranges::all_of(rows, [&](const MetricEntry* row) { return row->content == content; });
}

EvaluatedText read_texts(const EvaluatedFiles& files, const std::vector<System>& systems) {
  if (std::ranges::any_of(files.rows,
                          [](const MetricEntry* row) { return row->content == LineContent::answer; }) &&
      std::ranges::any_of(files.references, is_squad_file))
    return read_squad_texts(files, systems);
  EvaluatedText text;
  for (const std::string& path : files.references) {
    text.references.push_back(read_text(path, files));
    for (const MetricEntry* row : files.rows) require_references(text.references.back(), path, row->content);
  }
  if (!files.source.empty()) {
    text.sources = read_text(files.source, files);
    require_equal_lines(files.source, text.sources.size(), files.references[0], text.references[0].size());
  }
  for (const System& system : systems) {
    auto& runs = text.systems.emplace_back();
    for (const std::string& path : system) {
      if (files.line_confidence) text.rated = read_rated_lines(path);
      const auto& lines = runs.emplace_back(text.rated ? text.rated->texts : read_text(path, files));
      if (files.compares_only(LineContent::label))
        for (const std::string& reference : files.references)
          refuse_names_beside_numbers(lines, path, reference);
      for (size_t k = 0; k < text.references.size(); ++k)
        require_equal_lines(path, lines.size(), files.references[k], text.references[k].size());
    }
  }
  return text;
}

EvaluatedText compared_parts(EvaluatedText text, LineContent content) {
  for (auto& runs : text.systems)
    for (auto& lines : runs)
      for (std::string& line : lines) line = compared_part(line, content, /*reference=*/false);
  for (auto& lines : text.references)
    for (std::string& line : lines) line = compared_part(line, content, /*reference=*/true);
  return text;
}

}  // namespace sixfold::cli
