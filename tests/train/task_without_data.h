#pragma once
#include <functional>

#include "base/error.h"
#include "model/small_model.h"
#include "train/replica.h"
#include "train/task.h"

namespace sixfold {

/// A task for batches that a test makes: a small model, changed as it says, and no data.
class TaskWithoutData : public Task {
 public:
  explicit TaskWithoutData(const std::function<void(ModelConfig&)>& change) { change(config_); }
  const ModelConfig& model_config() const override { return config_; }
  const Dataset& training_data() const override { throw_input_error("there is none"); }

 private:
  ModelConfig config_ = small_config();
};

/// Two parts of an update with random pairs; labels are the targets themselves.
inline UpdateBatch two_parts(uint64_t seed) {
  UpdateBatch batch;
  for (const uint64_t i : {0, 1}) {
    Batch part = random_pairs({{4, 5}, {1, 1}, {7, 3}}, small_config(), seed + i);
    part.labels = part.target.ids;
    batch.add(std::move(part));
  }
  return batch;
}

}  // namespace sixfold
