#pragma once
#include <memory>

#include "train/task.h"

namespace sixfold {

/// Returns the maximum number of tokens of a batch in validation.
int64_t validation_batch_tokens(const BatchOptions& options, int64_t part_tokens);

/// Evaluates the model on the task's validation data, which must exist. Returns "loss" (the mean over labels,
/// without label smoothing), "perplexity" and the task's own scores and samples. Processes parts of
/// `part_tokens` tokens (0: whole batches). Buffers come from `arena`.
Evaluation validate_model(const Task& task, Transformer& model, const BatchOptions& options,
                          int64_t part_tokens, const std::shared_ptr<Arena>& arena);

/// Whether a score is better than the best value so far, if there is one. A score that is not finite is never
/// better.
bool is_better(const Score& score, std::optional<double> best);

}  // namespace sixfold
