#include "tasks/class_scores.h"

#include "data/batcher.h"
#include "infer/class_probabilities.h"

namespace sixfold {

Scores class_scores(const Transformer& model, const Dataset& data, int64_t batch_tokens,
                    const std::shared_ptr<Arena>& arena) {
  Batcher batcher(data, {.batch_tokens = batch_tokens, .shuffle = false});
  ClassCounts counts(model.config().labels.size());
  while (batcher.position().epoch == 0) {
    const Batch batch = batcher.next();
    Context context(model.backend(), arena);
    const std::vector<ClassProbabilities> predicted = class_probabilities(model, batch, context);
    for (size_t i = 0; i < predicted.size(); ++i)
      counts.add(static_cast<size_t>(batch.labels[i]), likeliest(predicted[i]));
  }
  return {{"accuracy", {100 * counts.accuracy(), true}}, {"macro_f1", {100 * counts.macro_f1(), true}}};
}

}  // namespace sixfold
