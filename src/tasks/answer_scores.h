#pragma once
#include <memory>

#include "data/question_dataset.h"
#include "train/task.h"

namespace sixfold {

/// Answers all questions of a dataset, in batches of at most `batch_tokens` tokens, and returns the scores
/// squad_exact_match and squad_f1 in percent. Buffers come from `arena`.
Scores answer_scores(const Transformer& model, const QuestionDataset& data, int64_t batch_tokens,
                     const std::shared_ptr<Arena>& arena);

/// Returns the number of bytes that this needs besides the arena.
int64_t answer_score_bytes(const QuestionDataset& data, int64_t batch_tokens);

}  // namespace sixfold
