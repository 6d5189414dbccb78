#include "model_folder/provenance.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/plural.h"

namespace sixfold {

using nlohmann::ordered_json;

namespace {

constexpr const char* file_name = "provenance.json";
constexpr const char* file_name_of_0_1_0 = "history.json";

/// The file of a model folder that holds its provenance, by its present name or that of version 0.1.0. Empty if
/// there is none.
std::string provenance_path(const std::string& folder) {
  for (const char* name : {file_name, file_name_of_0_1_0})
    if (std::error_code unknown; std::filesystem::exists(folder + "/" + name, unknown))
      return folder + "/" + name;
  return {};
}

std::string describe_step(const ordered_json& step) {
  const std::string name = step.at("step");
  const auto count = [&](const char* key, std::string_view noun) {
    const bool known = step.contains(key) && step[key].is_number_integer();
    return known ? counted(step[key].get<int64_t>(), noun) : fmt::format("? {}s", noun);
  };
  const std::string version = " (sixfold " + step.value("version", "?") + ")";
  if (name == "average") return fmt::format("average of {}{}", count("models", "model"), version);
  if (name == "quantize") return "weights quantized to " + step.value("type", "?") + version;
  if (name == "import") return "imported from " + step.value("from", "?") + version;
  if (name == "confidence") return "confidence fitted to " + count("lines", "line") + version;
  if (name != "train") return name + version;
  const std::string text_size = step.contains("texts") ? count("texts", "text") : count("pairs", "pair");
  std::string text = fmt::format("trained for {} on {}", count("updates", "update"), text_size);
  if (step.contains("best") && step["best"].is_object())
    text += fmt::format("; best {} {:.4g} at update {}", step["best"].value("metric", "?"),
                        step["best"].value("value", 0.0), step["best"].value("update", int64_t{0}));
  return text + version;
}

}  // namespace

std::vector<std::string> read_provenance(const std::string& folder) {
  const std::string path = provenance_path(folder);
  std::vector<std::string> steps;
  if (path.empty()) return steps;
  parse_json(read_regular_file(path), path);  // to report syntax errors
  const auto json = ordered_json::parse(read_regular_file(path));
  require(
      json.is_array(),
      "{}: expected an array of steps; restore the file, or remove it: the model then has no recorded steps",
      path);
  for (const auto& step : json) {
    require(step.is_object() && step.contains("step") && step["step"].is_string(),
            "{}: a step lacks its name, 'step'; restore the file, or remove it: the model then has no recorded "
            "steps",
            path);
    steps.push_back(step.dump());
  }
  return steps;
}

bool is_imported(const std::string& folder) {
  bool imported = false;
  for (const std::string& step : read_provenance(folder)) {
    const std::string name = ordered_json::parse(step).at("step");
    if (name == "import" || name == "train") imported = name == "import";
  }
  return imported;
}

std::vector<std::string> describe_provenance(const std::string& folder) {
  std::vector<std::string> lines;
  for (const std::string& step : read_provenance(folder)) {
    try {
      lines.push_back(describe_step(ordered_json::parse(step)));
    } catch (const nlohmann::json::exception& error) {
      throw_input_error("{}: {}; restore the file, or remove it: the model then has no recorded steps",
                        provenance_path(folder), error.what());
    }
  }
  return lines;
}

void write_provenance(const std::string& folder, const std::vector<std::string>& before,
                      const std::string& step) {
  auto json = ordered_json::array();
  for (const std::string& earlier : before) json.push_back(ordered_json::parse(earlier));
  auto newest = ordered_json::parse(step);
  newest["version"] = SIXFOLD_VERSION;
  json.push_back(std::move(newest));
  write_file_atomically(folder + "/" + file_name, json.dump(1) + "\n");
}

}  // namespace sixfold
