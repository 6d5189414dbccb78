#include "train/run_models.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/plural.h"
#include "model_folder/ownership.h"
#include "model_folder/provenance.h"
#include "train/resume.h"

namespace sixfold {
namespace {

/// Returns the model's history before this run. In a checkpoint the last entry is the run itself.
std::vector<std::string> steps_before(const std::string& newest, const std::string& start_model) {
  if (newest.empty()) return start_model.empty() ? std::vector<std::string>() : read_provenance(start_model);
  std::vector<std::string> steps = read_provenance(newest);
  if (!steps.empty()) steps.pop_back();
  return steps;
}

std::string newest_of(const std::vector<std::string>& checkpoints) {
  return checkpoints.empty() ? "" : checkpoints.back();
}

/// The entry of a training run in a model's history (model_folder/provenance.h), as JSON: settings, data,
/// updates, and best score.
std::string provenance_step(const Task& task, const TrainOptions& options, const TrainingState& state) {
  nlohmann::ordered_json step{
      {"step", "train"}, {"updates", state.update}, {"epoch", state.position.last_epoch()}};
  if (state.best)
    step["best"] = {{"metric", options.best_by}, {"value", *state.best}, {"update", state.best_update}};
  step.update(nlohmann::ordered_json::parse(task.history()));
  step["precision"] = name_of_enum(state.precision);
  step["instruction_set"] = state.instruction_set;
  if (!state.bf16_instructions.empty()) step["bf16_instructions"] = state.bf16_instructions;
  if (!state.changes.empty()) step["changes"] = nlohmann::ordered_json::parse(changes_text(state.changes));
  step["settings"] = nlohmann::ordered_json::parse(to_json(state.options));
  return step.dump();
}

}  // namespace

RunModels::RunModels(const RunFolder& folder, const Checkpoints& checkpoints, const TrainOptions& options,
                     const Task& task, Replica& replica, std::string newest)
    : folder_(folder),
      checkpoints_(checkpoints),
      options_(options),
      task_(task),
      replica_(replica),
      newest_(std::move(newest)),
      newest_scheduled_(replica.processes().broadcast(
          newest_.empty() || !replica.processes().is_root() ? "" : newest_of(checkpoints.scheduled()))),
      earlier_steps_(steps_before(newest_, options.start.model)) {}

void RunModels::add_to_model(const std::string& folder, const TrainingState& state) const {
  task_.write(folder);
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    require(
        is_checkpoint_file(entry.path().filename().string()),
        "the task wrote {}, which is not the name of a file of a model folder; src/model_folder/ownership.cc "
        "lists the files that commands may replace",
        entry.path().string());
  write_provenance(folder, earlier_steps_, provenance_step(task_, options_, state));
}

void RunModels::write(const std::string& folder, const TrainingState& state, AdapterStorage storage) const {
  if (!replica_.processes().is_root()) return;
  write_model_folder(
      folder, replica_.model(), [&](const std::string& path) { add_to_model(path, state); }, storage,
      options_.start.model);
}

void RunModels::save_checkpoint(const TrainingState& state) {
  checkpoints_.save(replica_.model(), replica_.optimizer(), state,
                    [&](const std::string& path) { add_to_model(path, state); });
  Processes& processes = replica_.processes();
  if (processes.is_root()) folder_.note_checkpoint();
  newest_ = processes.broadcast(processes.is_root() ? checkpoints_.list().back() : "");
  if (!state.interrupted) newest_scheduled_ = newest_;
}

void RunModels::save_best(const TrainingState& state) {
  replica_.optimizer().swap_average();
  write(folder_.best(), state, AdapterStorage::with_weights);
  replica_.optimizer().swap_average();
}

bool RunModels::has_best(const TrainingState& state) const {
  return replica_.processes().broadcast(read_stored_best(folder_.best()).update == state.best_update ? 1 : 0) !=
         0;
}

std::string RunModels::save_result(const TrainingState& state) {
  const auto averaged = static_cast<size_t>(options_.train.average_last);
  std::string which;
  if (averaged > 1) {
    if (!replica_.processes().is_root()) return which;
    auto last = checkpoints_.scheduled();
    if (last.size() > averaged) last.erase(last.begin(), last.end() - static_cast<ptrdiff_t>(averaged));
    Checkpoints::load_mean(last, replica_.model());
    which = fmt::format("the mean of the last {}", counted(last.size(), "checkpoint"));
  } else if (state.best && options_.checkpoint.keep_best && has_best(state)) {
    if (!replica_.processes().is_root()) return which;
    load_weights(folder_.best() + "/model.safetensors", replica_.model());
    which = fmt::format("the best at validation, of update {}", state.best_update);
  } else {
    replica_.optimizer().swap_average();
  }
  if (replica_.processes().is_root()) task_.measure(replica_.model());
  write(folder_.model(), state, options_.start.lora_merge ? AdapterStorage::merged : AdapterStorage::separate);
  return which;
}

}  // namespace sixfold
