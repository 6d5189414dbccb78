#include "train/run_result.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "data/file_stamps.h"
#include "formats/safetensors.h"
#include "model_folder/provenance.h"
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

/// The keys in which a run's settings differ from those of a config, without those that do not influence the
/// results, such as the number of threads and the names of input files.
std::vector<std::string> differing_settings(const TaskConfig& config, const OptionNode& stored) {
  const OptionNode current = run_options(config);
  std::vector<std::string> keys = differing_keys(stored, current);
  std::erase_if(keys, [&](const std::string& key) {
    const OnResume rule = on_resume(config, key);
    if (rule == OnResume::ignored) return true;
    if (rule != OnResume::input_file) return false;
    const OptionNode *before = stored.find_path(key), *now = current.find_path(key);
    return before && now && before->children.size() == now->children.size() &&
           before->text.empty() == now->text.empty();
  });
  return keys;
}

/// Whether the training text is that of a model, as far as its files can still be read.
bool has_same_text(const TaskConfig& config, const nlohmann::json& step) {
  const OptionNode current = run_options(config);
  const OptionNode* files = current.find_path("data.train");
  if (!files || !step.contains("text") || step["text"].size() != files->children.size()) return true;
  for (size_t i = 0; i < files->children.size(); ++i) {
    const std::string& path = files->children[i].second.text;
    std::error_code failure;
    if (!fs::is_regular_file(path, failure)) continue;
    if (stamp_of(path).hash != step["text"][i].value("hash", "")) return false;
  }
  return true;
}

/// Whether the limit of training in `key`, such as "train.updates", is less than the number of updates that a
/// run has done, or, since epochs and minutes can't be compared with that, less than the limit of the run. 0 is
/// no limit.
bool is_too_short(const TaskConfig& config, const OptionNode& stored, int64_t updates_done,
                  const std::string& key) {
  const OptionNode current = run_options(config);
  const auto length = [&](const OptionNode& options) {
    const OptionNode* value = options.find_path(key);
    const double number = value ? std::strtod(value->text.c_str(), nullptr) : 0;
    return number > 0 ? number : std::numeric_limits<double>::infinity();
  };
  return length(current) < (key == "train.updates" ? static_cast<double>(updates_done) : length(stored));
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
  const int64_t stored = read_stored_best(run + "/best").update;
  return stored < 0 || stored == best ? best : updates;
}

/// The scores of the last validation at the update of the run's model. The log has no scores of a best model
/// that was made before the run was changed (`keep_later_best`), but the model's own record has one.
std::map<std::string, double> validation_of(const nlohmann::json& step, const std::string& run,
                                            int64_t update) {
  constexpr std::string_view prefix = "validation ";
  std::map<std::string, double> scores;
  for (const auto& [name, curve] : read_training_log(run + "/train.jsonl")) {
    if (!name.starts_with(prefix)) continue;
    for (size_t i = 0; i < curve.updates.size(); ++i)
      if (curve.updates[i] == static_cast<double>(update)) scores[name.substr(prefix.size())] = curve.values[i];
  }
  if (!step.contains("best") || step["best"].value("update", int64_t{0}) != update) return scores;
  const std::string metric = step["best"].value("metric", "");
  const double best = step["best"].value("value", 0.0);
  if (const auto found = scores.find(metric); found == scores.end() || found->second != best)
    return {{metric, best}};
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
    if (!differing_settings(config, trained).empty() || !has_same_text(config, step)) return false;
    int64_t updates = 0;
    object.read("updates", updates);
    // A newer checkpoint is of a run that went on with other settings, and was stopped.
    const std::string newest = newest_checkpoint(run);
    if (newest.empty()) return true;
    const TrainingState state = Checkpoints::read_state(newest);
    return state.update == updates && !state.interrupted;
  } catch (const Error&) {  // damaged, or not a run of this task; training reports it
    return false;
  }
}

std::vector<std::string> changed_since_begun(const TaskConfig& config, const std::string& run) {
  try {
    const std::string newest = newest_checkpoint(run);
    std::error_code failure;
    nlohmann::json step;  // of the model; null if there is none
    if (fs::exists(model_of(run) + "/model.safetensors", failure)) step = training_step(run);
    if (newest.empty() && step.is_null()) return {};
    const auto state = newest.empty() ? TrainingState() : Checkpoints::read_state(newest);
    const OptionNode stored =
        newest.empty() ? trained_with(config, step, run) : config.read_stored(state.options);
    std::vector<std::string> keys = differing_settings(config, stored);
    std::erase_if(keys, [&](const std::string& key) {
      const bool is_length = key == "train.updates" || key == "train.epochs" || key == "train.minutes";
      return is_length && !is_too_short(config, stored, state.update, key);
    });
    if (keys.empty() && !step.is_null() && !has_same_text(config, step))
      keys.emplace_back("data.train (the contents of its files)");
    return keys;
  } catch (const Error&) {  // damaged, or not a run of this task; training reports it
    return {};
  }
}

RunResult read_run_result(const std::string& run) {
  const nlohmann::json step = training_step(run);
  RunResult result;
  JsonObject(step, model_of(run)).read("updates", result.updates);
  result.precision = step.value("precision", "");
  result.model_update = update_of_model(step, run, result.updates);
  if (result.model_update > 0) result.validation = validation_of(step, run, result.model_update);
  if (const std::string newest = newest_checkpoint(run); !newest.empty()) {
    const TrainingState state = Checkpoints::read_state(newest);
    result.seconds = state.seconds;
    if (state.operations > 0) result.operations = state.operations;
  }
  return result;
}

}  // namespace sixfold
