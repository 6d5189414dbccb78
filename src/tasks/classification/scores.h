#pragma once
#include <vector>

#include "data/dataset.h"
#include "metrics/classification.h"
#include "train/task.h"

namespace sixfold {

/// Collective. Classifies a dataset whose samples have a label each, in batches of at most `batch_tokens`
/// tokens, and returns the scores accuracy and macro_f1 in percent.
Scores class_scores(const Transformer& model, const Dataset& data, int64_t batch_tokens,
                    const EvaluationRun& run);

}  // namespace sixfold
