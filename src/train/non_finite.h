#pragma once
#include <optional>
#include <string>
#include <vector>

#include "data/batch_stream.h"
#include "train/task.h"
#include "train/teacher.h"

namespace sixfold {

/// Where the first infinite or NaN value of a training step arose.
struct NonFiniteReport {
  std::string module;     ///< "decoder.layers.2.fc1"; empty: nothing was found
  std::string op;         ///< "linear"
  bool backward = false;  ///< in a gradient; else in a value
  /// The samples of the batch that give such a value on their own; if there are none, all samples.
  std::vector<int32_t> samples;
  std::vector<SampleDescription> descriptions;  ///< one for each entry of `samples`

  /// "encoder.layers.0.self_attn (attention), forward; sentences: ..."
  std::string describe() const;
};

/// The inputs for replaying a step.
struct Replay {
  const Task& task;
  const Transformer& model;
  Context::Seeds seeds;
  ops::LossOptions loss;
  const TeacherModel* teacher = nullptr;  ///< null: there is none
};

/// Repeats the step of an update and returns the first op whose result or gradient is not finite. Overwrites
/// the gradients of the weights.
NonFiniteReport find_non_finite(const Replay& replay, Update& update);

/// Returns the report as JSON, for a file.
std::string to_json_text(const NonFiniteReport& report, int64_t update);

}  // namespace sixfold
