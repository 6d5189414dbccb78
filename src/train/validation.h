#pragma once
#include "train/task.h"

namespace sixfold {

/// Throws an input error unless the settings of validation fit the task.
void check_validation(const Task& task, const TrainOptions& options);

/// Returns the maximum number of tokens of a batch in validation.
int64_t validation_batch_tokens(const BatchOptions& options, int64_t part_tokens);

/// Collective. Evaluates the model on the task's validation data, which must exist. Returns "loss" (the mean
/// over labels, without label smoothing), "perplexity" and the task's own scores and samples.
Evaluation validate_model(const Task& task, Transformer& model, const BatchOptions& options,
                          const EvaluationRun& run);

/// Whether a score is better than the best value so far, if there is one. A score that is not finite is never
/// better.
bool is_better(const Score& score, std::optional<double> best);

}  // namespace sixfold
