#include "tasks/classification/scores.h"

#include "data/batcher.h"
#include "tasks/classification/class_probabilities.h"

namespace sixfold {

Scores class_scores(const Transformer& model, const Dataset& data, const MetricValidationOptions& validation,
                    int64_t batch_tokens, const EvaluationRun& run) {
  Batcher batcher(data, {.batch_tokens = batch_tokens, .shuffle = false});
  std::vector<double> local_results;  // the label and the predicted label of each sample
  for (int turn = 0; batcher.position().epoch == 0; turn = (turn + 1) % run.processes.size()) {
    const Batch batch = batcher.next();
    if (turn != run.processes.rank()) continue;
    Context context(model.backend(), run.arena);
    const std::vector<ClassProbabilities> predicted = class_probabilities(model, batch, context);
    for (size_t i = 0; i < predicted.size(); ++i)
      local_results.insert(local_results.end(), {static_cast<double>(batch.labels[i]),
                                                 static_cast<double>(likeliest(predicted[i]))});
  }
  const std::vector<std::string> labels = labels_of(model.config());
  ValidationScores scores(validation.table, validation.names, {.labels = labels});
  for (const std::vector<double>& pairs : run.processes.all_gather_numbers(local_results))
    for (size_t i = 0; i < pairs.size(); i += 2)
      scores.add(labels[static_cast<size_t>(pairs[i + 1])], {&labels[static_cast<size_t>(pairs[i])], 1});
  return scores.scores();
}

}  // namespace sixfold
