#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/api.h"
#include "train/trainer.h"

namespace sixfold {

/// Trains with a config in YAML, or in JSON if it begins with a brace. `sixfold train --options` lists the
/// keys. `assignments`, such as "train.minutes=5", override keys of the config. Returns and throws as `train`
/// of a `TaskConfig`; messages about keys name the line of the config.
SIXFOLD_API TrainOutcome train(std::string_view config, const TrainRequest& request,
                               const std::vector<std::string>& assignments = {});

}  // namespace sixfold
