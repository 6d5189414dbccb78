#pragma once
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "metrics/classification.h"
#include "train/task.h"

namespace sixfold {

/// Classifies a dataset whose samples have a label each, in batches of at most `batch_tokens` tokens, and
/// returns the scores accuracy and macro_f1 in percent. Buffers come from `arena`.
Scores class_scores(const Transformer& model, const Dataset& data, int64_t batch_tokens,
                    const std::shared_ptr<Arena>& arena);

}  // namespace sixfold
