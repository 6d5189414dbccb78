#include "train/run_result.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "formats/safetensors.h"
#include "model/provenance.h"
#include "train/checkpoint.h"
#include "train/resume.h"
#include "train/training_log.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

std::string model_of(const std::string& run) { return run + "/model"; }

/// The newest checkpoint of a run; empty if there is none.
std::string newest_checkpoint(const std::string& run) {
  const auto all = Checkpoints(run, 1).list();
  return all.empty() ? "" : all.back();
}

/// The training step in the provenance of the run's model.
nlohmann::json training_step(const std::string& run) {
  const std::string model = model_of(run);
  require(fs::exists(model + "/model.safetensors"), "{}: the run has no model yet", run);
  const auto steps = read_provenance(model);
  require(!steps.empty(), "{}: the model has no record of its training (provenance.json)", model);
  return parse_json(steps.back(), model + "/provenance.json");
}

/// All values, without the number of threads, which does not influence the results.
OptionNode comparable(OptionNode options) {
  set_option(options, "train.threads=0");
  return options;
}

/// The settings with which the run's model was trained, as the config writes them.
OptionNode trained_with(const TaskConfig& config, const nlohmann::json& step, const std::string& run) {
  const std::string where = model_of(run) + "/provenance.json";
  return config.read_stored(parse_json_options(JsonObject(step, where).at("settings").dump(), where));
}

/// The update whose weights the model has, by the rules of `RunModels::save_result`.
int64_t update_of_model(const nlohmann::json& step, const std::string& run, int64_t updates) {
  const std::string where = model_of(run) + "/provenance.json";
  const JsonObject object(step, where);
  const JsonObject settings(object.at("settings"), where);
  int64_t averaged = 1;
  bool keeps_best = false;
  JsonObject(settings.at("train"), where).read("average_last", averaged);
  JsonObject(settings.at("checkpoint"), where).read("keep_best", keeps_best);
  if (averaged > 1) return 0;
  if (!keeps_best || !object.has("best")) return updates;
  int64_t best = 0;
  JsonObject(object.at("best"), where).read("update", best);
  const int64_t stored = stored_best_update(run + "/best");
  return stored < 0 || stored == best ? best : updates;
}

/// The scores of the last validation at an update.
std::map<std::string, double> validation_at(const std::string& run, int64_t update) {
  constexpr std::string_view prefix = "validation ";
  std::map<std::string, double> scores;
  for (const auto& [name, curve] : read_training_log(run + "/train.jsonl")) {
    if (!name.starts_with(prefix)) continue;
    for (size_t i = 0; i < curve.updates.size(); ++i)
      if (curve.updates[i] == static_cast<double>(update)) scores[name.substr(prefix.size())] = curve.values[i];
  }
  return scores;
}

}  // namespace

bool is_finished(const TaskConfig& config, const std::string& run) {
  std::error_code failure;
  if (!fs::exists(model_of(run), failure)) return false;
  try {
    SafetensorsFile::open(model_of(run) + "/model.safetensors");  // damaged if it can't be opened
    const nlohmann::json step = training_step(run);
    const std::string where = model_of(run) + "/provenance.json";
    const JsonObject object(step, where);
    const OptionNode trained = trained_with(config, step, run);
    if (!differing_keys(comparable(trained), comparable(run_options(config))).empty()) return false;
    int64_t updates = 0;
    object.read("updates", updates);
    // A newer checkpoint is of a run that went on with other settings, and was stopped.
    const std::string newest = newest_checkpoint(run);
    if (newest.empty()) return true;
    const TrainingState state = Checkpoints::read_state(newest);
    return state.update == updates && !state.interrupted;
  } catch (const Error&) {  // damaged, or not a run of this task; training will say so
    return false;
  }
}

std::vector<std::string> changed_since_finished(const TaskConfig& config, const std::string& run) {
  std::error_code failure;
  if (!fs::exists(model_of(run) + "/model.safetensors", failure)) return {};
  try {
    auto keys = differing_keys(comparable(trained_with(config, training_step(run), run)),
                               comparable(run_options(config)));
    std::erase_if(keys, [](const std::string& key) {
      return key == "train.updates" || key == "train.epochs" || key == "train.minutes";
    });
    return keys;
  } catch (const Error&) {  // damaged, or not a run of this task; training will say so
    return {};
  }
}

RunResult read_run_result(const std::string& run) {
  const nlohmann::json step = training_step(run);
  RunResult result;
  JsonObject(step, model_of(run)).read("updates", result.updates);
  result.model_update = update_of_model(step, run, result.updates);
  if (result.model_update > 0) result.validation = validation_at(run, result.model_update);
  if (const std::string newest = newest_checkpoint(run); !newest.empty())
    result.seconds = Checkpoints::read_state(newest).seconds;
  return result;
}

}  // namespace sixfold
