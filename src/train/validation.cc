#include "train/validation.h"

#include <algorithm>
#include <cmath>

#include "data/batcher.h"

namespace sixfold {
namespace {

double mean_loss(const Task& task, const Transformer& model, int64_t batch_tokens,
                 const std::shared_ptr<Arena>& arena) {
  Batcher batcher(*task.validation_data(), {.batch_tokens = batch_tokens, .shuffle = false});
  double loss = 0, loss_weight = 0;
  while (batcher.position().epoch == 0) {
    const Batch batch = batcher.next();
    Context context(model.backend(), arena);
    loss += task.loss(model, batch, {}, context).item(*model.backend());
    loss_weight += batch.loss_weight();
  }
  return loss / loss_weight;
}

}  // namespace

int64_t validation_batch_tokens(const BatchOptions& options, int64_t part_tokens) {
  return part_tokens > 0 ? std::min<int64_t>(options.batch_tokens, part_tokens) : options.batch_tokens;
}

Evaluation validate_model(const Task& task, Transformer& model, const BatchOptions& options,
                          int64_t part_tokens, const std::shared_ptr<Arena>& arena) {
  model.pack();
  const double loss = mean_loss(task, model, validation_batch_tokens(options, part_tokens), arena);
  Evaluation evaluation = task.evaluate(model, part_tokens, arena);
  evaluation.scores["loss"] = {loss};
  evaluation.scores["perplexity"] = {std::exp(loss)};
  model.discard_packed();
  return evaluation;
}

bool is_better(const Score& score, std::optional<double> best) {
  if (!std::isfinite(score.value) || !best) return std::isfinite(score.value);
  return score.higher_is_better ? score.value > *best : score.value < *best;
}

}  // namespace sixfold
