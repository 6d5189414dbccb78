#pragma once
#include "train/task.h"

namespace sixfold {

/// How much a decoder makes of what its encoder read.
struct SourceUse {
  /// By how much the mean loss of a label grows if a sample has the source of another one.
  double gain = 0;
  /// The entropy of cross-attention, as a share of that of even weights; the mean over the target tokens, of
  /// the head of all layers that has the lowest.
  double entropy = 1;
};

/// What a validation found, with what the trainer saw for diagnoses (train/diagnosis.h).
struct Validation : Evaluation {
  /// Of the labels: the loss of a model that knows only how frequent each is. 0: labels are places.
  double label_entropy = 0;
  double first_loss = 0;  ///< mean loss of a label of the first batch
  std::optional<SourceUse>
      source;  ///< of some samples; none: there is no encoder, no decoder or no other source
};

/// Throws an input error unless the settings of validation fit the task.
void check_validation(const Task& task, const TrainOptions& options);

/// Returns the maximum number of tokens of a batch in validation.
int64_t validation_batch_tokens(const BatchOptions& options, int64_t part_tokens);

/// Collective. Evaluates the model on the task's validation data, which must exist. Returns "loss" (the mean
/// over labels, without label smoothing), "perplexity" and the task's own scores and samples.
Validation validate_model(const Task& task, Transformer& model, const BatchOptions& options,
                          const EvaluationRun& run);

/// The mean loss of a label of the first batch of the validation data, as `Validation::first_loss`.
double first_batch_loss(const Task& task, const Transformer& model, const BatchOptions& options,
                        const EvaluationRun& run);

/// Whether a score is better than the best value so far, if there is one. A score that is not finite is never
/// better.
bool is_better(const Score& score, std::optional<double> best);

}  // namespace sixfold
