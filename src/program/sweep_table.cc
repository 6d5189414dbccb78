#include "program/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/join.h"
#include "base/plural.h"
#include "program/kit/text_io.h"
#include "program/plot/dots.h"

namespace sixfold::cli {
namespace {

/// What a column shows, and whether differences in it are tested.
enum class ColumnKind { quantity, validation, test };

/// A column of the table.
struct Column {
  std::string title;
  std::string name;  ///< in JSON
  int digits;        ///< after the decimal point
  std::function<std::optional<double>(const SweepRun&)> value;
  ColumnKind kind = ColumnKind::quantity;
};

/// The columns in which at least one training has a value.
std::vector<Column> columns_of(const SweepTable& table) {
  std::vector<Column> columns;
  const auto add = [&](const std::string& name, const std::string& title, int digits) {
    const auto value = [name](const SweepRun& run) {
      const auto found = run.validation.find(name);
      return found == run.validation.end() ? std::nullopt : std::optional(found->second);
    };
    columns.push_back({title + " (validation)", "validation_" + name, digits, value, ColumnKind::validation});
  };
  add("perplexity", "perplexity", 3);
  for (const MetricEntry& metric : metric_table()) add(std::string(metric.name), std::string(metric.title), 1);
  columns.push_back(
      {fmt::format("{} (test)", sweep_test_metric().title), fmt::format("test_{}", sweep_test_metric().name), 1,
       [](const SweepRun& run) { return run.test ? std::optional(run.test->score) : std::nullopt; },
       ColumnKind::test});
  columns.push_back({"million parameters", "million_parameters", 3, [](const SweepRun& run) {
                       return std::optional(static_cast<double>(run.parameters) / 1e6);
                     }});
  columns.push_back({"updates", "updates", 0,
                     [](const SweepRun& run) { return std::optional(static_cast<double>(run.updates)); }});
  columns.push_back({"training, TFLOP", "training_tflop", 3, [](const SweepRun& run) {
                       return run.operations ? std::optional(*run.operations / 1e12) : std::nullopt;
                     }});
  columns.push_back({"minutes", "minutes", 1, [](const SweepRun& run) {
                       return run.seconds ? std::optional(*run.seconds / 60) : std::nullopt;
                     }});
  const auto has = [](const SweepRun& run, const Column& column) {
    return run.finished && column.value(run).has_value();
  };
  std::erase_if(columns, [&](const Column& column) {
    return std::ranges::none_of(table.rows, [&](const SweepResult& row) {
      return std::ranges::any_of(row.runs, [&](const SweepRun& run) { return has(run, column); });
    });
  });
  return columns;
}

/// The values of a row's finished trainings.
std::vector<double> values_of(const SweepResult& row, const Column& column) {
  std::vector<double> values;
  for (const SweepRun& run : row.runs)
    if (const auto value = run.finished ? column.value(run) : std::nullopt) values.push_back(*value);
  return values;
}

/// The p-value of a row's difference from the first row; nothing if there are too few trainings. Scores on
/// different validation texts, and perplexities of models with different tokenizers, are not compared.
std::optional<double> p_value(const SweepResult& first, const SweepResult& row, const Column& column) {
  if (!first.testable() || !row.testable()) return {};
  if (column.kind == ColumnKind::test) return row.test_difference ? row.test_difference->p_value : std::nullopt;
  if (column.kind == ColumnKind::quantity) return {};
  if (first.runs[0].validation_text != row.runs[0].validation_text) return {};
  if (column.name == "validation_perplexity" && first.runs[0].tokenizer != row.runs[0].tokenizer) return {};
  return welch_p_value(values_of(first, column), values_of(row, column));
}

/// A cell of the table.
struct Entry {
  double mean;
  std::optional<double> deviation;  ///< if there are several trainings
  std::optional<double> p_value, adjusted;

  bool significant() const { return adjusted && *adjusted < significance_level; }
  std::string text(const Column& column) const {
    std::string text = fmt::format("{:.{}f}", mean, column.digits);
    // Sizes do not depend on seeds.
    if (deviation && (*deviation > 0 || column.kind != ColumnKind::quantity))
      text += fmt::format(" ± {:.{}f}", *deviation, std::max(column.digits, 1));
    return text + (significant() ? " *" : "");
  }
};

/// The entries of a column, one for each row; nothing for a row without a finished training.
std::vector<std::optional<Entry>> entries_of(const SweepTable& table, const Column& column) {
  std::vector<std::optional<double>> p_values;
  for (size_t i = 1; i < table.rows.size(); ++i)
    p_values.push_back(p_value(table.rows[0], table.rows[i], column));
  const auto adjusted = holm_adjusted(p_values);
  std::vector<std::optional<Entry>> entries;
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const std::vector<double> values = values_of(table.rows[i], column);
    auto& entry = entries.emplace_back();
    if (values.empty()) continue;
    entry = Entry{.mean = mean_of(values), .deviation = deviation_of(values), .p_value = {}, .adjusted = {}};
    if (i == 0) continue;
    entry->p_value = p_values[i - 1];
    entry->adjusted = adjusted[i - 1];
  }
  return entries;
}

std::string changes_text(const SweepResult& row) {
  return row.changes + (row.changes.empty() || row.differences.empty() ? "" : ", ") + row.differences;
}

std::string state_text(const SweepResult& row) {
  std::vector<std::string> failures;
  for (const SweepRun& run : row.runs)
    if (!run.failure.empty())
      failures.push_back((row.runs.size() > 1 ? fmt::format("seed {} ", run.seed) : "") +
                         "failed: " + markdown_cell(run.failure));
  if (!failures.empty()) return join(failures, "; ");
  if (row.complete()) return "";
  const auto finished = std::ranges::count_if(row.runs, &SweepRun::finished);
  return finished == 0 ? "not finished yet"
                       : fmt::format("{} of {} trainings have finished", finished, row.runs.size());
}

/// "fp32", or the precisions of all trainings.
std::string precision_text(const SweepResult& row) {
  std::vector<std::string> all;
  for (const SweepRun& run : row.runs)
    if (!run.precision.empty() && std::ranges::count(all, run.precision) == 0) all.push_back(run.precision);
  return join(all);
}

/// What the numbers of the table mean, and which of its differences can be due to chance.
std::string explanation(const SweepTable& table) {
  if (table.rows.size() < 2) return "";
  const auto runs = [](const SweepResult& row) { return row.runs.size(); };
  const size_t most = std::ranges::max(table.rows, {}, runs).runs.size();
  std::string text;
  if (most > 1) text = "\n±: standard deviation of the trainings of a recipe, which differ in their seeds.";
  const bool tested = table.rows[0].runs.size() >= min_compared_runs && most >= min_compared_runs;
  if (!tested)
    return text + fmt::format(
                      "{}Differences may be due to the seeds; they are tested from {} trainings of each "
                      "recipe on (--seeds {}).\n",
                      text.empty() ? "\n" : " ", min_compared_runs, min_compared_runs);
  text += fmt::format(
      " *: differs from {}, p < {} by Welch's t-test over the trainings, adjusted by Holm's method for {} in "
      "each column.",
      table.rows[0].name, significance_level, counted(table.rows.size() - 1, "comparison"));
  if (!table.test_text.empty())
    text += " Test scores also have to differ by approximate randomization over the lines of the test.";
  return text + "\n";
}

nlohmann::ordered_json json_of(const SweepRun& run) {
  nlohmann::ordered_json object{{"run", run.run}, {"finished", run.finished}};
  if (!run.failure.empty()) object["failure"] = run.failure;
  if (!run.finished) return object;
  object["updates"] = run.updates;
  object["model_update"] = run.model_update;
  object["parameters"] = run.parameters;
  if (!run.precision.empty()) object["precision"] = run.precision;
  if (run.seconds) object["seconds"] = *run.seconds;
  if (run.operations) object["operations"] = *run.operations;
  if (!run.validation.empty()) object["validation"] = run.validation;
  if (run.test) object[fmt::format("test_{}", sweep_test_metric().name)] = run.test->score;
  return object;
}

nlohmann::ordered_json json_of(const Entry& entry) {
  nlohmann::ordered_json object{{"mean", entry.mean}};
  if (entry.deviation) object["standard_deviation"] = *entry.deviation;
  if (!entry.p_value) return object;
  object["p_value"] = *entry.p_value;
  object["adjusted_p_value"] = *entry.adjusted;
  object["significant"] = entry.significant();
  return object;
}

}  // namespace

bool SweepResult::complete() const { return std::ranges::all_of(runs, &SweepRun::finished); }

const MetricEntry& sweep_test_metric() { return metric_named("bleu"); }

std::string sweep_markdown(const SweepTable& table) {
  const std::vector<Column> columns = columns_of(table);
  const auto any = [&](const auto& test) { return std::ranges::any_of(table.rows, test); };
  const bool has_changes = any([](const SweepResult&row) { return !changes_text(row).empty(); }),
             has_states = any([](const SweepResult&row) { return !state_text(row).empty(); }),
             has_precision = any([](const SweepResult&row) { return !precision_text(row).empty(); });
  std::string text = "| recipe |", line = "|---|";
  const auto add = [&](const std::string& title, const char* rule) {
    text += " " + title + " |";
    line += rule;
  };
  if (has_changes) add("changes", "---|");
  if (has_precision) add("precision", "---|");
  std::vector<std::vector<std::optional<Entry>>> entries;
  for (const Column& column : columns) {
    add(column.title, "---:|");
    entries.push_back(entries_of(table, column));
  }
  if (has_states) add("", "---|");
  text += "\n" + line + "\n";
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const SweepResult& row = table.rows[i];
    text += fmt::format("| {} |", row.name);
    if (has_changes) text += fmt::format(" {} |", markdown_cell(changes_text(row)));
    if (has_precision) text += fmt::format(" {} |", precision_text(row));
    for (size_t c = 0; c < columns.size(); ++c)
      text += entries[c][i] ? fmt::format(" {} |", entries[c][i]->text(columns[c])) : "  |";
    if (has_states) text += fmt::format(" {} |", state_text(row));
    text += "\n";
  }
  text += explanation(table);
  if (!table.test_text.empty())
    text += fmt::format("\nTest: {}, {} {}\n", table.test_text, sweep_test_metric().title, table.signature);
  return text;
}

std::string sweep_json(const SweepTable& table) {
  using nlohmann::ordered_json;
  ordered_json rows = ordered_json::array();
  for (const SweepResult& row : table.rows) {
    ordered_json object{{"name", row.name}, {"changes", row.changes}};
    if (!row.differences.empty()) object["differences"] = row.differences;
    if (row.runs.size() == 1) {
      object.update(json_of(row.runs[0]));
    } else {
      for (const SweepRun& run : row.runs) {
        ordered_json one{{"seed", run.seed}};
        one.update(json_of(run));
        object["runs"].push_back(std::move(one));
      }
    }
    rows.push_back(std::move(object));
  }
  for (const Column& column : columns_of(table)) {
    const auto entries = entries_of(table, column);
    for (size_t i = 0; i < entries.size(); ++i)
      if (entries[i] && table.rows[i].runs.size() > 1) rows[i]["means"][column.name] = json_of(*entries[i]);
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
    for (const auto& entry : entries_of(table, column)) {
      panel.values.push_back(entry ? entry->mean : std::numeric_limits<double>::quiet_NaN());
      panel.deviations.push_back(entry ? entry->deviation.value_or(0) : 0);
      panel.texts.push_back(entry ? entry->text(column) : "");
    }
    panels.push_back(std::move(panel));
  }
  return dots_svg(table.title, names, panels);
}

}  // namespace sixfold::cli
