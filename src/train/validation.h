#pragma once
#include "train/task.h"

namespace sixfold {

/// How much a decoder uses its source.
struct SourceUse {
  /// By how much the mean loss of a label grows if a sample has the source of another one.
  double gain = 0;
  /// The mean entropy of the cross-attention of a target token, as a share of the entropy of uniform weights.
  /// It is that of the head with the lowest value in all layers.
  double entropy = 1;
};

/// The result of a validation, with observations of the trainer for diagnoses (train/diagnosis.h).
struct Validation : Evaluation {
  /// The entropy of the distribution of labels: the loss of a model that knows only how frequent each label is.
  /// 0: the labels are positions in the input.
  double label_entropy = 0;
  /// Where the loss lies between those of a model that knows each label (0) and of one that knows only how
  /// frequent each is (1), both trained with the run's label smoothing.
  double unknown_share = 0;
  double first_loss = 0;  ///< mean loss of a label of the first batch
  /// Measured on some samples; none: the model lacks an encoder or a decoder, or all sources are equal.
  std::optional<SourceUse> source;
};

/// Throws an input error unless the settings of validation fit the task.
void check_validation(const Task& task, const TrainOptions& options);

/// Returns the maximum number of tokens of a batch in validation.
int64_t validation_batch_tokens(const BatchOptions& options, int64_t part_tokens);

/// Collective. Evaluates the model on the task's validation data, which must exist. Returns "loss" (the mean
/// over labels, without label smoothing), "perplexity" and the task's own scores and samples. `smoothing`: that
/// of the labels in training.
Validation validate_model(const Task& task, Transformer& model, const BatchOptions& options, double smoothing,
                          const EvaluationRun& run);

/// The mean loss of a label of the first batch of the validation data, as `Validation::first_loss`.
double first_batch_loss(const Task& task, const Transformer& model, const BatchOptions& options,
                        const EvaluationRun& run);

/// Whether a score is better than the best value so far, if there is one. A score that is not finite is never
/// better.
bool is_better(const Score& score, std::optional<double> best);

}  // namespace sixfold
