#include "train/provenance_step.h"

#include <nlohmann/json.hpp>

namespace sixfold {

std::string provenance_step(const TrainOptions& options, const TrainingState& state,
                            const TokenStoreRecord& text) {
  nlohmann::ordered_json step{
      {"step", "train"}, {"updates", state.update}, {"epoch", state.position.last_epoch()}};
  if (state.best)
    step["best"] = {{"metric", name_of_enum(options.validation.best_by)},
                    {"value", *state.best},
                    {"update", state.best_update}};
  step["pairs"] = text.report.kept();
  for (const FileStamp& file : text.files)
    step["text"].push_back({{"path", file.path}, {"bytes", file.bytes}, {"hash", file.hash}});
  step["precision"] = name_of_enum(state.precision);
  step["instruction_set"] = state.instruction_set;
  for (const TrainingChange& change : state.changes)
    step["changes"].push_back(
        {{"update", change.update}, {"what", change.what}, {"from", change.from}, {"to", change.to}});
  step["settings"] = nlohmann::ordered_json::parse(to_json(write_options(options)));
  return step.dump();
}

}  // namespace sixfold
