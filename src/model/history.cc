#include "model/history.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace sixfold {

using nlohmann::ordered_json;

std::vector<std::string> read_history(const std::string& folder) {
  const std::string path = folder + "/history.json";
  std::vector<std::string> steps;
  if (!std::filesystem::exists(path)) return steps;
  parse_json(read_file(path), path);  // for its errors
  const auto json = ordered_json::parse(read_file(path));
  require(json.is_array(), "{}: should be an array of steps; without the file the model has no history", path);
  for (const auto& step : json) {
    require(step.is_object() && step.contains("step") && step["step"].is_string(),
            "{}: a step has no name; without the file the model has no history", path);
    steps.push_back(step.dump());
  }
  return steps;
}

void write_history(const std::string& folder, const std::vector<std::string>& before, const std::string& step) {
  auto json = ordered_json::array();
  for (const std::string& earlier : before) json.push_back(ordered_json::parse(earlier));
  auto newest = ordered_json::parse(step);
  newest["version"] = SIXFOLD_VERSION;
  json.push_back(std::move(newest));
  write_file_atomically(folder + "/history.json", json.dump(1) + "\n");
}

}  // namespace sixfold
