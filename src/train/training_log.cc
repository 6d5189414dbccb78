#include "train/training_log.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "data/lines.h"

namespace sixfold {
namespace {

using Curves = std::map<std::string, LoggedCurve>;

void add_line(const nlohmann::json& line, const std::string& place, Curves& curves) {
  require(line.is_object() && line.contains("update") && line["update"].is_number(),
          "{}: not a line of a training log; it has no update", place);
  const double update = line["update"].get<double>();
  const auto add = [&](const std::string& name, const nlohmann::json& value) {
    if (!value.is_number()) return;
    curves[name].updates.push_back(update);
    curves[name].values.push_back(value.get<double>());
  };
  for (const char* name : {"loss", "learning_rate", "gradient_norm"})
    if (line.contains(name)) add(name, line[name]);
  if (line.contains("validation") && line["validation"].is_object())
    for (const auto& [name, value] : line["validation"].items()) add("validation " + name, value);
}

}  // namespace

std::map<std::string, LoggedCurve> read_training_log(const std::string& path) {
  Curves curves;
  int64_t torn = 0;
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
    add_line(json, reader.place(), curves);
  }
  require(!curves.empty() || torn == 0, "{}", first_error);
  require(!curves.empty(), "{}: has no lines yet; the first is written after log.every_updates updates", path);
  if (torn > 0)
    log_warning("{}; {} skipped, as the result of a crash", first_error,
                torn == 1 ? "the line is" : fmt::format("{} such lines are", torn));
  return curves;
}

}  // namespace sixfold
