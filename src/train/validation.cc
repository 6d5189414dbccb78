#include "train/validation.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/join.h"
#include "data/batcher.h"

namespace sixfold {
namespace {

double mean_loss(const Task& task, const Transformer& model, int64_t batch_tokens, const EvaluationRun& run) {
  Batcher batcher(*task.validation_data(), {.batch_tokens = batch_tokens, .shuffle = false});
  double loss_weight = 0;
  std::vector<double> own;
  for (int turn = 0; batcher.position().epoch == 0; turn = (turn + 1) % run.processes.size()) {
    const Batch batch = batcher.next();
    loss_weight += batch.loss_weight();
    if (turn != run.processes.rank()) continue;
    Context context(model.backend(), run.arena);
    own.push_back(task.loss(model, batch, {}, context).item(*model.backend()));
  }
  // Added in the order of the batches, whatever the number of processes.
  const std::vector<std::vector<double>> all = run.processes.gather_numbers(own);
  double loss = 0;
  for (size_t i = 0; i < all.front().size(); ++i)
    for (const std::vector<double>& losses : all)
      if (i < losses.size()) loss += losses[i];
  return loss / loss_weight;
}

}  // namespace

void check_validation(const Task& task, const TrainOptions& options) {
  if (!task.validation_data())
    return require(options.validation.patience == 0, "validation.patience needs validation data");
  std::vector<std::string> metrics = task.metrics();
  metrics.insert(metrics.end(), std::begin(scores_of_trainer), std::end(scores_of_trainer));
  require(std::ranges::find(metrics, options.best_by) != metrics.end(),
          "validation has no score '{}', which is to decide which model is best; it has {}", options.best_by,
          join(metrics, ", "));
}

int64_t validation_batch_tokens(const BatchOptions& options, int64_t part_tokens) {
  return part_tokens > 0 ? std::min<int64_t>(options.batch_tokens, part_tokens) : options.batch_tokens;
}

Evaluation validate_model(const Task& task, Transformer& model, const BatchOptions& options,
                          const EvaluationRun& run) {
  model.pack();
  const double loss = mean_loss(task, model, validation_batch_tokens(options, run.part_tokens), run);
  Evaluation evaluation = task.evaluate(model, run);
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
