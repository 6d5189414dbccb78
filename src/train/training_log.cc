#include "train/training_log.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "data/lines.h"

namespace sixfold {

std::map<std::string, LoggedCurve> read_training_log(const std::string& path) {
  std::map<std::string, LoggedCurve> curves;
  const auto add = [&](const std::string& name, double update, const nlohmann::json& value) {
    if (!value.is_number()) return;
    curves[name].updates.push_back(update);
    curves[name].values.push_back(value.get<double>());
  };
  LineReader reader(path);
  for (std::string line; reader.next(line);) {
    if (line.empty()) continue;
    const auto json = parse_json(line, reader.place());
    require(json.is_object() && json.contains("update") && json["update"].is_number(),
            "{}: is no line of a training log; it has no update", reader.place());
    const double update = json["update"].get<double>();
    for (const char* name : {"loss", "learning_rate", "gradient_norm"})
      if (json.contains(name)) add(name, update, json[name]);
    if (json.contains("validation") && json["validation"].is_object())
      for (const auto& [name, value] : json["validation"].items()) add("validation " + name, update, value);
  }
  require(!curves.empty(), "{}: has no line yet; the first comes after log.every_updates updates", path);
  return curves;
}

}  // namespace sixfold
