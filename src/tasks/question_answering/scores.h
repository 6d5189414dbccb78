#pragma once
#include "data/question_dataset.h"
#include "tasks/kit/validation_metrics.h"

namespace sixfold {

/// Collective. Answers all questions of a dataset, in batches of at most `batch_tokens` tokens, and returns the
/// scores of the metrics of answers.
Scores answer_scores(const Transformer& model, const QuestionDataset& data,
                     const MetricValidationOptions& validation, int64_t batch_tokens, const EvaluationRun& run);

/// Returns the number of bytes that `answer_scores` needs besides the arena.
int64_t answer_score_bytes(const QuestionDataset& data, int64_t batch_tokens);

}  // namespace sixfold
