#pragma once
#include "data/dataset.h"
#include "tasks/kit/validation_metrics.h"

namespace sixfold {

/// Collective. Classifies a dataset whose samples have one label each, in batches of at most `batch_tokens`
/// tokens, and returns the scores of the metrics of labels.
Scores class_scores(const Transformer& model, const Dataset& data, const MetricValidationOptions& validation,
                    int64_t batch_tokens, const EvaluationRun& run);

}  // namespace sixfold
