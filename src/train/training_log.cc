#include "train/training_log.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "data/lines.h"
#include "model_folder/ownership.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

using Curves = std::map<std::string, LoggedCurve>;

/// The curves that are drawn, without gaps.
void add_entry(const LogEntry& entry, Curves& curves) {
  for (const auto& [name, value] : entry.values) {
    const bool drawn =
        name == "loss" || name == "learning_rate" || name == "gradient_norm" || name.starts_with("validation ");
    if (std::isnan(value) || !drawn) continue;
    curves[name].updates.push_back(static_cast<double>(entry.update));
    curves[name].values.push_back(value);
  }
}

LogEntry entry_of(const nlohmann::json& line, const std::string& place) {
  require(line.is_object() && line.contains("update"), "{}: not a line of a training log; it has no update",
          place);
  constexpr int64_t max_update = 1'000'000'000'000'000;
  LogEntry entry{.update = whole_number(line["update"], place + ": update", 0, max_update)};
  const auto add = [&](const std::string& name, const nlohmann::json& value) {
    if (value.is_number()) entry.values.emplace_back(name, value.get<double>());
    if (value.is_null()) entry.values.emplace_back(name, std::numeric_limits<double>::quiet_NaN());
  };
  for (const char* name : {"loss", "perplexity", "learning_rate", "gradient_norm", "tokens_per_second",
                           "memory_mb", "seconds", "seconds_left", "last_update"})
    if (line.contains(name)) add(name, line[name]);
  if (line.contains("validation") && line["validation"].is_object())
    for (const auto& [name, value] : line["validation"].items()) add("validation " + name, value);
  if (line.contains("diagnosis") && line["diagnosis"].is_object())
    for (const auto& [key, to] : {std::pair{"id", &entry.diagnosis}, std::pair{"text", &entry.text}})
      if (line["diagnosis"].contains(key) && line["diagnosis"][key].is_string()) *to = line["diagnosis"][key];
  if (line.contains("samples") && line["samples"].is_array()) entry.samples = line["samples"].dump();
  return entry;
}

}  // namespace

LogEntry parse_log_line(const std::string& line, const std::string& place) {
  return entry_of(parse_json(line, place), place);
}

std::string name_of_run(const std::string& path) {
  fs::path whole = fs::absolute(path).lexically_normal();
  if (!whole.has_filename() || whole.filename() == "train.jsonl") whole = whole.parent_path();
  return whole.filename().string();
}

std::vector<std::string> names_of_runs(const std::vector<std::string>& paths) {
  std::vector<std::string> names, shown;
  for (const std::string& path : paths) names.push_back(name_of_run(path));
  for (size_t i = 0; i < paths.size(); ++i)
    shown.push_back(std::ranges::count(names, names[i]) > 1 ? paths[i] : names[i]);
  return shown;
}

std::vector<std::string> with_runs_of_sweeps(const std::vector<std::string>& paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    if (!is_sweep_folder(path)) {
      all.push_back(path);
      continue;
    }
    std::vector<std::string> runs;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      std::error_code failure;
      const auto bytes = fs::file_size(entry.path() / "train.jsonl", failure);
      if (!failure && bytes > 0) runs.push_back(entry.path());
    }
    require(!runs.empty(), "{}: no run of this sweep has a line in its train.jsonl yet", path);
    std::ranges::sort(runs);
    all.insert(all.end(), runs.begin(), runs.end());
  }
  return all;
}

std::string read_training_log(const std::string& path, const std::function<void(const LogEntry&)>& take) {
  int64_t torn = 0, figures = 0;
  std::string first_error;
  LineReader reader(path);
  for (std::string line; reader.next(line);) {
    if (line.empty()) continue;
    nlohmann::json json;
    try {
      json = parse_json(line, reader.place());
    } catch (const Error& error) {
      if (torn++ == 0) first_error = error.what();
      continue;
    }
    const LogEntry entry = entry_of(json, reader.place());
    figures += static_cast<int64_t>(entry.values.size());
    take(entry);
  }
  require(figures > 0 || torn == 0, "{}", first_error);
  require(figures > 0, "{}: has no lines yet; the first is written after the first update", path);
  if (torn == 0) return {};
  return fmt::format("{}; {} skipped, as the result of a crash", first_error,
                     torn == 1 ? "the line is" : fmt::format("{} such lines are", torn));
}

std::map<std::string, LoggedCurve> read_training_log(const std::string& path) {
  Curves curves;
  const std::string warning = read_training_log(path, [&](const LogEntry& entry) { add_entry(entry, curves); });
  if (!warning.empty()) log_warning("{}", warning);
  return curves;
}

}  // namespace sixfold
