#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// A row of a task's table of sizes: options of a run whose config gives none. Rows go from small models to
/// large ones.
struct SizeChoice {
  /// What the row needs: operations that the minutes of the run allow, in 1e12, and training data in megabytes.
  double operations, megabytes;
  /// Assignments such as "model.d_model=128", separated by spaces. Those of one text are made if the config
  /// gives none of their options, nor any that stands among them without a value. One such as
  /// "optimizer.kind?=adam" makes nothing: the others are left out if the config gives another value.
  std::vector<std::string_view> options;
};

/// The norm in front of each sub-layer, with which short trainings learn more surely (Xiong et al. 2020).
inline constexpr std::string_view pre_norm =
    "model.preprocess=[norm] model.postprocess=[dropout,add] model.postprocess_top=[norm]";

/// Returns the assignments for options that are not given in `root`, the tree of a config that has
/// `train.minutes` as its only limit and neither sizes of a model (`model.preset`, `model.d_model`, ...) nor
/// `start.model`; otherwise none. They are those of the last row whose needs are met. The operations are those
/// of the threads and of a table of processors (`training_rate`); no clock is read. `run`: the folder of a run
/// that may have begun, whose values are taken instead; empty: there is none. Throws an input error if its
/// config can't be read.
std::vector<std::string> choose_sizes(const OptionNode& root, std::span<const SizeChoice> table,
                                      const std::string& run);

}  // namespace sixfold
