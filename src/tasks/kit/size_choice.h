#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// A row of a task's table of sizes: options for a run whose config sets no sizes.
struct SizeChoice {
  /// The minimum for this row: operations that the minutes of the run allow, in 1e12, and training data in
  /// megabytes.
  double operations, megabytes;
  /// Groups of assignments such as "model.d_model=128", separated by spaces. A group is applied if the config
  /// sets none of its options. A group may contain an option without a value, which must not be set either, and
  /// a condition such as "optimizer.kind?=adam": the group is not applied if the config sets another value.
  std::vector<std::string_view> options;
};

/// Layer normalization before each sub-layer, which makes short trainings more stable (Xiong et al. 2020).
inline constexpr std::string_view pre_norm =
    "model.preprocess=[norm] model.postprocess=[dropout,add] model.postprocess_top=[norm]";

/// Returns assignments of sizes for a config, the tree `root`. There are none unless `train.minutes` is the
/// only limit of the training and the config sets neither a size of the model (`model.preset`, `model.d_model`,
/// ...) nor `start.model`. The assignments are those of a row whose minimum is met: of those for the most data
/// the one for the most operations. The available operations are estimated from the threads and a table of
/// processors (`training_rate`), without measuring time. `run`: the folder of a run; if it has already begun,
/// its values are returned instead, also where some sizes are given and minutes were its only limit; empty:
/// there is none. Throws an input error if its config can't be read.
std::vector<std::string> choose_sizes(const OptionNode& root, std::span<const SizeChoice> table,
                                      const std::string& run);

}  // namespace sixfold
