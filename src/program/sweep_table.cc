#include "program/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "metrics/metric.h"
#include "program/plot/dots.h"

namespace sixfold::cli {
namespace {

/// A quantity of the table.
struct Column {
  std::string title;
  int digits;  ///< after the decimal point
  std::function<std::optional<double>(const SweepResult&)> value;
};

std::optional<double> validation_score(const SweepResult& row, const std::string& name) {
  const auto found = row.validation.find(name);
  return found == row.validation.end() ? std::nullopt : std::optional(found->second);
}

/// The columns that at least one row has.
std::vector<Column> columns_of(const SweepTable& table) {
  std::vector<Column> columns;
  const auto add = [&](const std::string& name, const std::string& title, int digits) {
    columns.push_back({title + " (validation)", digits,
                       [name](const SweepResult& row) { return validation_score(row, name); }});
  };
  add("perplexity", "perplexity", 3);
  for (const MetricEntry& metric : metric_table()) add(std::string(metric.name), std::string(metric.title), 1);
  columns.push_back({fmt::format("{} (test)", sweep_test_metric().title), 1,
                     [](const SweepResult& row) { return row.test_score; }});
  columns.push_back({"million parameters", 3, [](const SweepResult& row) {
                       return std::optional(static_cast<double>(row.parameters) / 1e6);
                     }});
  columns.push_back(
      {"updates", 0, [](const SweepResult& row) { return std::optional(static_cast<double>(row.updates)); }});
  columns.push_back({"minutes", 1, [](const SweepResult& row) {
                       return row.seconds ? std::optional(*row.seconds / 60) : std::nullopt;
                     }});
  std::erase_if(columns, [&](const Column& column) {
    return std::ranges::none_of(
        table.rows, [&](const SweepResult& row) { return row.finished && column.value(row).has_value(); });
  });
  return columns;
}

/// Text as a cell of a Markdown table: one line, without bars.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '<') result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

std::string state_text(const SweepResult& row) {
  return !row.failure.empty() ? "failed: " + cell(row.failure) : row.finished ? "" : "not finished yet";
}

}  // namespace

const MetricEntry& sweep_test_metric() { return metric_named("bleu"); }

std::string sweep_markdown(const SweepTable& table) {
  const std::vector<Column> columns = columns_of(table);
  const bool has_changes =
      std::ranges::any_of(table.rows, [](const SweepResult& r) { return !r.changes.empty(); });
  const bool has_states =
      std::ranges::any_of(table.rows, [](const SweepResult& r) { return !r.finished || !r.failure.empty(); });
  const bool has_precision =
      std::ranges::any_of(table.rows, [](const SweepResult& r) { return !r.precision.empty(); });
  std::string text = "| recipe |", line = "|---|";
  const auto add = [&](const std::string& title, const char* rule) {
    text += " " + title + " |";
    line += rule;
  };
  if (has_changes) add("changes", "---|");
  if (has_precision) add("precision", "---|");
  for (const Column& column : columns) add(column.title, "---:|");
  if (has_states) add("", "---|");
  text += "\n" + line + "\n";
  for (const SweepResult& row : table.rows) {
    text += fmt::format("| {} |", row.name);
    if (has_changes) text += fmt::format(" {} |", cell(row.changes));
    if (has_precision) text += fmt::format(" {} |", row.precision);
    for (const Column& column : columns) {
      const auto value = row.finished ? column.value(row) : std::nullopt;
      text += value ? fmt::format(" {:.{}f} |", *value, column.digits) : "  |";
    }
    if (has_states) text += fmt::format(" {} |", state_text(row));
    text += "\n";
  }
  if (!table.test_text.empty())
    text += fmt::format("\nTest: {}, {} {}\n", table.test_text, sweep_test_metric().report, table.signature);
  return text;
}

std::string sweep_json(const SweepTable& table) {
  using nlohmann::ordered_json;
  ordered_json rows = ordered_json::array();
  for (const SweepResult& row : table.rows) {
    ordered_json object{
        {"name", row.name}, {"changes", row.changes}, {"run", row.run}, {"finished", row.finished}};
    if (!row.failure.empty()) object["failure"] = row.failure;
    if (row.finished) {
      object["updates"] = row.updates;
      object["model_update"] = row.model_update;
      object["parameters"] = row.parameters;
      if (!row.precision.empty()) object["precision"] = row.precision;
      if (row.seconds) object["seconds"] = *row.seconds;
      if (!row.validation.empty()) object["validation"] = row.validation;
      if (row.test_score) object[fmt::format("test_{}", sweep_test_metric().name)] = *row.test_score;
    }
    rows.push_back(std::move(object));
  }
  ordered_json object;
  if (!table.test_text.empty()) object["test"] = {{"text", table.test_text}, {"signature", table.signature}};
  object["rows"] = std::move(rows);
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string sweep_svg(const SweepTable& table) {
  std::vector<std::string> names;
  for (const SweepResult& row : table.rows) names.push_back(row.name);
  std::vector<DotPanel> panels;
  for (const Column& column : columns_of(table)) {
    DotPanel panel{.title = column.title, .values = {}, .digits = column.digits};
    for (const SweepResult& row : table.rows)
      panel.values.push_back(
          (row.finished ? column.value(row) : std::nullopt).value_or(std::numeric_limits<double>::quiet_NaN()));
    panels.push_back(std::move(panel));
  }
  return dots_svg(table.title, names, panels);
}

}  // namespace sixfold::cli
