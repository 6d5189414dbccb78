#include "train/validation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/join.h"
#include "data/batcher.h"

namespace sixfold {
namespace {

/// The loss of a batch, summed over its labels.
double loss_of(const Task& task, const Transformer& model, const Batch& batch, const EvaluationRun& run) {
  Context context(model.backend(), run.arena);
  return task.loss(model, batch, {}, context).item(*model.backend());
}

/// The sum of the weights of each label in the batches that are added.
class LabelCounts {
 public:
  void add(const Batch& batch) {
    if (!batch.choices.empty()) return;  // its labels are positions in the input
    for (size_t i = 0; i < batch.labels.size(); ++i) {
      if (batch.labels[i] < 0) continue;
      const auto label = static_cast<size_t>(batch.labels[i]);
      if (label >= weights_.size()) weights_.resize(label + 1);
      weights_[label] += batch.label_weights.empty() ? 1.0 : static_cast<double>(batch.label_weights[i]);
    }
  }
  /// The loss of a model that knows only how frequent each label is, and was trained with label smoothing.
  double loss_of_frequencies(double smoothing) const {
    const double all = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    double sum = 0;
    for (const double weight : weights_)
      if (weight > 0) sum -= weight / all * std::log((1 - smoothing) * weight / all + smoothing / count());
    return sum;
  }
  /// The loss of a model that knows each label, and was trained with label smoothing.
  double lowest_loss(double smoothing) const { return -std::log(1 - smoothing + smoothing / count()); }

 private:
  double count() const { return static_cast<double>(std::max<size_t>(weights_.size(), 1)); }
  std::vector<double> weights_;
};

void add_loss(const Task& task, const Transformer& model, int64_t batch_tokens, double smoothing,
              const EvaluationRun& run, Validation& validation) {
  Batcher batcher(*task.validation_data(), {.batch_tokens = batch_tokens, .shuffle = false});
  double loss_weight = 0, first_weight = 0;
  std::vector<double> own_losses;
  LabelCounts labels;
  for (int turn = 0; batcher.position().epoch == 0; turn = (turn + 1) % run.processes.size()) {
    const Batch batch = batcher.next();
    if (loss_weight == 0) first_weight = batch.loss_weight();
    loss_weight += batch.loss_weight();
    labels.add(batch);
    if (turn == run.processes.rank()) own_losses.push_back(loss_of(task, model, batch, run));
  }
  // Added in the order of the batches, whatever the number of processes.
  const std::vector<std::vector<double>> all = run.processes.all_gather_numbers(own_losses);
  double loss = 0;
  for (size_t i = 0; i < all.front().size(); ++i)
    for (const std::vector<double>& losses : all)
      if (i < losses.size()) loss += losses[i];
  validation.scores["loss"] = {loss / loss_weight};
  validation.scores["perplexity"] = {std::exp(loss / loss_weight)};
  validation.first_loss = all.front().front() / first_weight;
  validation.label_entropy = labels.loss_of_frequencies(0);
  const double lowest = labels.lowest_loss(smoothing), highest = labels.loss_of_frequencies(smoothing);
  validation.unknown_share = highest > lowest ? (loss / loss_weight - lowest) / (highest - lowest) : 0;
}

/// Finds the head with the lowest entropy.
class CrossAttentionEntropy final : public AttentionObserver {
 public:
  explicit CrossAttentionEntropy(const Batch& batch) : batch_(batch) {}
  bool wants(AttentionKind kind, int) const override { return kind == AttentionKind::cross; }
  void observe_attention(AttentionKind, int, const ops::AttentionInputs& inputs,
                         const ops::AttentionPattern& pattern, Context& context) override {
    const Tensor weights = ops::attention_weights(context, inputs, pattern);
    const std::vector<float> all = weights.to_floats(context.backend());
    const Ragged &queries = batch_.target.rows, &keys = batch_.source.rows;
    for (int64_t row = 0; row < weights.rows(); row += queries.tokens()) {
      double sum = 0;
      int64_t count = 0;
      for (int i = 0; i < queries.sequences(); ++i)
        for (int query = queries.begin(i); keys.length(i) > 1 && query < queries.begin(i + 1); ++query, ++count)
          sum += entropy(&all[static_cast<size_t>((row + query) * weights.cols())], keys.length(i)) /
                 std::log(static_cast<double>(keys.length(i)));
      if (count == 0) continue;
      const double mean = sum / static_cast<double>(count);
      lowest_ = seen_ ? std::min(lowest_, mean) : mean;
      seen_ = true;
    }
  }
  /// The lowest mean entropy of a head; 0 if all sources have one token.
  double lowest() const { return lowest_; }

 private:
  static double entropy(const float* weights, int count) {
    double sum = 0;
    for (int i = 0; i < count; ++i)
      if (const auto weight = static_cast<double>(weights[i]); weight > 0) sum -= weight * std::log(weight);
    return sum;
  }

  const Batch& batch_;
  double lowest_ = 0;
  bool seen_ = false;
};

std::optional<SourceUse> source_use(const Task& task, const Transformer& model, int64_t batch_tokens,
                                    const EvaluationRun& run) {
  constexpr int max_samples = 16;
  constexpr int64_t max_tokens = 1024;
  Batcher batcher(
      *task.validation_data(),
      {.batch_tokens = std::min(batch_tokens, max_tokens), .max_samples = max_samples, .shuffle = false});
  const Batch batch = batcher.next();
  if (batch.source.rows.sequences() < 2 || batch.target.rows.sequences() < 2) return {};
  // Each sample gets the source of the next one with another target, if there is one.
  Batch exchanged = batch;
  exchanged.source = {.ids_per_row = batch.source.ids_per_row};
  int64_t changed_tokens = 0, tokens = 0;
  for (int i = 0; i < batch.size(); ++i) {
    const auto target = batch.target.sequence(i);
    int other = i;
    do other = (other + 1) % batch.size();
    while (other != i && std::ranges::equal(batch.target.sequence(other), target));
    exchanged.source.add(batch.source.sequence(other));
    tokens += std::ssize(target);
    if (other != i) changed_tokens += std::ssize(target);
  }
  if (exchanged.source.ids == batch.source.ids) return {};
  const double changed_weight =
      batch.loss_weight() * static_cast<double>(changed_tokens) / static_cast<double>(tokens);
  CrossAttentionEntropy observer(batch);
  Context context(model.backend(), run.arena);
  model.states(batch, context, &observer);
  return SourceUse{
      .gain = (loss_of(task, model, exchanged, run) - loss_of(task, model, batch, run)) / changed_weight,
      .entropy = observer.lowest()};
}

}  // namespace

void OutputFacts::add(const std::vector<int32_t>& source, const std::vector<int32_t>& output,
                      const std::string& reference, bool is_endless) {
  if (outputs == 0) first_source_ = source, first_output_ = output, first_reference_ = reference;
  ++outputs;
  endless += is_endless ? 1 : 0;
  if (source == first_source_ || reference == first_reference_) return;
  ++others;
  same += output == first_output_ ? 1 : 0;
}

void check_validation(const Task& task, const TrainOptions& options) {
  if (!task.validation_data()) {
    require(options.schedule.kind != ScheduleKind::plateau, "schedule.kind plateau needs validation data");
    return require(options.validation.patience == 0, "validation.patience needs validation data");
  }
  std::vector<std::string> metrics = task.metrics();
  metrics.insert(metrics.end(), std::begin(scores_of_trainer), std::end(scores_of_trainer));
  require(std::ranges::find(metrics, options.best_by) != metrics.end(),
          "validation has no score '{}', which is to decide which model is best; it has {}", options.best_by,
          join(metrics, ", "));
}

int64_t validation_batch_tokens(const BatchOptions& options, int64_t part_tokens) {
  return part_tokens > 0 ? std::min<int64_t>(options.batch_tokens, part_tokens) : options.batch_tokens;
}

Validation validate_model(const Task& task, Transformer& model, const BatchOptions& options, double smoothing,
                          const EvaluationRun& run) {
  model.pack();
  const int64_t batch_tokens = validation_batch_tokens(options, run.part_tokens);
  Validation validation{task.evaluate(model, run)};
  add_loss(task, model, batch_tokens, smoothing, run, validation);
  validation.source = source_use(task, model, batch_tokens, run);
  model.discard_packed();
  return validation;
}

double first_batch_loss(const Task& task, const Transformer& model, const BatchOptions& options,
                        const EvaluationRun& run) {
  Batcher batcher(*task.validation_data(),
                  {.batch_tokens = validation_batch_tokens(options, run.part_tokens), .shuffle = false});
  const Batch batch = batcher.next();
  return loss_of(task, model, batch, run) / batch.loss_weight();
}

bool is_better(const Score& score, std::optional<double> best) {
  if (!std::isfinite(score.value) || !best) return std::isfinite(score.value);
  return score.higher_is_better ? score.value > *best : score.value < *best;
}

}  // namespace sixfold
