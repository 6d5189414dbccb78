#include "train/provenance_step.h"

#include <nlohmann/json.hpp>

namespace sixfold {

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

}  // namespace sixfold
