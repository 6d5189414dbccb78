#pragma once
#include <optional>
#include <string>
#include <vector>

#include "data/batcher.h"
#include "model/transformer.h"
#include "text/tokenizers.h"

namespace sixfold {

/// Where numbers stopped being finite in a step of training.
struct NonFiniteReport {
  std::string module;                         ///< "decoder.layers.2.fc1"; empty: nothing was found
  std::string op;                             ///< "linear"
  bool backward = false;                      ///< in the gradients; else in the values
  std::vector<int32_t> sentences;             ///< of the batch, those that break alone; else all
  std::vector<std::string> sources, targets;  ///< their text

  /// "encoder.layers.0.self_attn (attention), forward; sentences: ..."
  std::string describe() const;
};

/// What a step is replayed with.
struct Replay {
  const Transformer& model;
  const Tokenizers& tokenizers;
  Context::Seeds seeds;
  double label_smoothing, loss_scale;
};

/// Takes the step of these batches again, op by op, and names the first whose result, or whose gradient, is not
/// finite.
NonFiniteReport find_non_finite(const Replay& replay, const std::vector<Batch>& batches);

/// The same as JSON, for a file.
std::string to_json_text(const NonFiniteReport& divergence, int64_t update);

}  // namespace sixfold
