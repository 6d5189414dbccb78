#include "train/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sixfold {
namespace {

// The reasons of all thresholds are in docs/training.md.

std::string attention_uniform(const Observations& o) {
  const auto& source = o.validation.found.source;
  if (!source || source->entropy < 0.97) return {};
  return fmt::format(
      "cross-attention is still even: its most decided head has {:.1f}% of the entropy of even "
      "weights, so that the decoder sees no more than the mean of its source",
      100 * source->entropy);
}

std::string source_ignored(const Observations& o) {
  const auto& source = o.validation.found.source;
  if (!source || !(source->gain <= 0.02) || !attention_uniform(o).empty()) return {};
  return fmt::format(
      "the decoder ignores its source: with the sources of other samples the validation loss "
      "changes by {:.4f} only",
      source->gain);
}

std::string loss_of_single_tokens(const Observations& o) {
  const double loss = o.validation.found.scores.at("loss").value, entropy = o.validation.found.label_entropy;
  // A model that has learned its training data by heart has a high validation loss too.
  if (entropy == 0 || loss < 0.97 * entropy || o.history.last_loss < 0.9 * entropy) return {};
  // Where one label is nearly all, label smoothing alone costs more than that.
  if (o.validation.found.unknown_share < 0.5) return {};
  return fmt::format(
      "the validation loss is {:.3f}, and a model that knows only how frequent each token, or "
      "label, is has {:.3f}",
      loss, entropy);
}

std::string same_output(const Observations& o) {
  const OutputFacts& outputs = o.validation.found.outputs;
  if (outputs.others < 3 || 10 * outputs.same < 9 * outputs.others) return {};
  return fmt::format("{} of {} validation outputs for different sources are the same", outputs.same + 1,
                     outputs.others + 1);
}

std::string outputs_loop(const Observations& o) {
  const OutputFacts& outputs = o.validation.found.outputs;
  if (outputs.outputs < 4 || 2 * outputs.endless < outputs.outputs) return {};
  return fmt::format("{} of {} validation outputs repeat their last words again and again, or have no end",
                     outputs.endless, outputs.outputs);
}

std::string overfitting(const Observations& o) {
  const DiagnosisHistory& h = o.history;
  const double loss = o.validation.found.scores.at("loss").value;
  // A solved task has a loss near 0, which label smoothing alone makes rise.
  if (loss < 1.05 * h.best_validation || loss < h.best_validation + 0.05 ||
      h.last_loss > 0.98 * h.loss_at_best_validation)
    return {};
  return fmt::format(
      "the validation loss has risen from {:.3f} to {:.3f}, and the training loss has fallen "
      "from {:.3f} to {:.3f}",
      h.best_validation, loss, h.loss_at_best_validation, h.last_loss);
}

std::string average_lags(const Observations& o) {
  const auto& [found, trained] = o.validation;
  if (!trained || !(found.first_loss >= 1.05 * *trained)) return {};
  return fmt::format(
      "the moving average of the weights lags behind: on the first validation batch it has a "
      "loss of {:.3f}, and the weights themselves have {:.3f}",
      found.first_loss, *trained);
}

std::string gradients_vanish(const Observations& o) {
  // At a rate that is far too high, units die.
  const auto rate = std::ranges::find(o.history.seen, "rate-too-high", &DiagnosisHistory::Seen::id);
  if (rate != o.history.seen.end() && rate->reported) return {};
  std::vector<TrainingObservation::Gradient> all = o.training.gradients;
  if (o.settings.drops_layers) std::erase_if(all, [](const auto& one) { return one.size == 0; });
  if (all.empty()) return {};
  std::ranges::sort(all, {}, &TrainingObservation::Gradient::size);
  const double usual = all[all.size() / 2].size;
  if (!(all[0].size < 1e-5 * usual)) return {};
  return fmt::format(
      "the gradient of {} has vanished: its elements have a size of {:.1e}, and those of half "
      "of the other weights {:.1e} or more",
      all[0].weight, all[0].size, usual);
}

std::string gradients_explode(const Observations& o) {
  const auto& all = o.training.gradients;
  if (all.empty() || !(o.training.gradient_norm > 100)) return {};
  const auto largest = std::ranges::max_element(all, {}, &TrainingObservation::Gradient::size);
  return fmt::format("the gradient has a norm of {:.3g}; the largest one is that of {}",
                     o.training.gradient_norm, largest->weight);
}

std::string rate_too_high(const Observations& o) {
  const DiagnosisHistory& h = o.history;
  if (const double share = o.training.rate / o.training.weight_size; o.settings.rate_is_step && share > 0.1)
    return fmt::format(
        "with a learning rate of {:.1e}, an update changes many weights by {:.0f}% of their "
        "usual size, which is {:.2g}",
        o.training.rate, 100 * share, o.training.weight_size);
  if (!o.settings.shuffles) return {};  // the text may have become harder
  const double gained = h.first_loss - h.lowest_loss, lost = h.last_loss - h.lowest_loss;
  if (lost < 0.2 + 0.3 * gained) return {};
  return fmt::format("the training loss has risen from {:.3f} to {:.3f}, and stays there", h.lowest_loss,
                     h.last_loss);
}

std::string rate_too_low(const Observations& o) {
  const DiagnosisHistory& h = o.history;
  if (o.settings.fine_tuned || !o.settings.rate_is_step || h.updates < 1000 ||
      !(h.rates < 0.2 * o.training.weight_size))
    return {};
  return fmt::format(
      "the weights have hardly moved: {} updates with these learning rates can change a weight "
      "by {:.1g} at most, and their usual size is {:.1g}",
      h.updates, h.rates, o.training.weight_size);
}

std::string throughput_halved(const Observations& o) {
  if (o.training.slow_intervals < 3) return {};
  return fmt::format("for a minute, training has had less than half of the speed that it had before");
}

constexpr Diagnosis table[] = {
    {"attention-uniform", Moment::validation, 1000, 1, attention_uniform,
     "Check that the lines of source and target belong together (sixfold check); try a lower "
     "schedule.learning_rate, a longer schedule.warmup, or pre-norm (model.preprocess: [norm])."},
    {"source-ignored", Moment::validation, 1000, 1, source_ignored,
     "Check that the lines of source and target belong together (sixfold check), and that the source says what "
     "the target needs; if the loss still falls, train longer."},
    {"loss-of-single-tokens", Moment::validation, 1000, 1, loss_of_single_tokens,
     "Check that inputs and targets belong together (sixfold check); try a lower schedule.learning_rate, a "
     "longer schedule.warmup, or pre-norm (model.preprocess: [norm])."},
    {"same-output", Moment::validation, 1000, 1, same_output,
     "Check that the lines of source and target belong together (sixfold check); try a lower "
     "schedule.learning_rate."},
    {"outputs-loop", Moment::validation, 1000, 2, outputs_loop,
     "Train longer, or on more text; check that the targets are whole and have ends (sixfold check: "
     "truncated); "
     "generation.no_repeat_ngram hides the loops."},
    {"overfitting", Moment::validation, 0, 3, overfitting,
     "More data, a higher model.dropout or a smaller model help; validation.patience ends such a run, and "
     "checkpoint.keep_best keeps its best model."},
    {"average-lags", Moment::validation, 1000, 2, average_lags,
     "Choose a lower train.ema_decay, whose average covers about 1 / (1 - decay) updates, or train longer."},
    {"gradients-vanish", Moment::training, 0, 3, gradients_vanish,
     "Keep the residual connections (add in model.postprocess), use pre-norm (model.preprocess: [norm]) or "
     "fewer layers, and check that the weight is of use for the data."},
    {"gradients-explode", Moment::training, 0, 3, gradients_explode,
     "Use norms (model.postprocess or model.preprocess), a lower schedule.learning_rate, a longer "
     "schedule.warmup, or train.clip_norm."},
    {"rate-too-high", Moment::training, 0, 2, rate_too_high,
     "Try a lower schedule.learning_rate, a longer schedule.warmup, or train.clip_norm."},
    {"rate-too-low", Moment::training, 0, 1, rate_too_low,
     "Try a higher schedule.learning_rate, or a shorter schedule.warmup."},
    {"throughput-halved", Moment::training, 0, 1, throughput_halved,
     "Look for other programs on these processors (top), for swapping, and for processors that are too hot."},
};

}  // namespace

std::span<const Diagnosis> diagnosis_table() { return table; }

void Diagnoses::record_update(int64_t update, double loss_sum, double loss_weight, double learning_rate,
                              int64_t tokens, double seconds) {
  history_.loss += loss_sum;
  history_.loss_weight += loss_weight;
  history_.rates += rate_ = learning_rate;
  ++history_.updates;
  if (learning_rate > history_.peak_rate) history_.peak_rate = learning_rate, history_.peak = update;
  seconds_ += seconds;
  tokens_ += static_cast<double>(tokens);
  if (seconds_ < interval_seconds) return;
  const double speed = tokens_ / seconds_;
  slow_intervals_ = speed < fastest_ / 2 ? slow_intervals_ + 1 : 0;
  fastest_ = std::max(fastest_, speed);
  seconds_ = tokens_ = 0;
}

std::vector<Finding> Diagnoses::check_training(int64_t update, const Optimizer& optimizer,
                                               std::span<const double> gradient_squares) {
  TrainingObservation seen{
      .loss = history_.loss / history_.loss_weight,
      .rate = rate_,
      .weight_size = optimizer.weight_size(),
      .gradient_norm = std::sqrt(std::accumulate(gradient_squares.begin(), gradient_squares.end(), 0.0)),
      .slow_intervals = slow_intervals_};
  for (size_t i = 0; i < gradient_squares.size(); ++i)
    if (const Parameter& weight = optimizer.parameters()[i]; weight.shape.size() > 1)
      seen.gradients.push_back(
          {weight.name, std::sqrt(gradient_squares[i] / static_cast<double>(weight.tensor.size()))});
  if (history_.first_loss == 0) history_.first_loss = history_.lowest_loss = seen.loss;
  history_.lowest_loss = std::min(history_.lowest_loss, seen.loss);
  history_.last_loss = seen.loss;
  history_.last_check = update;
  history_.loss = history_.loss_weight = 0;
  return diagnose(Moment::training,
                  {.update = update, .history = history_, .settings = settings_, .training = std::move(seen)});
}

std::vector<Finding> Diagnoses::check_validation(int64_t update, ValidationObservation validation) {
  const double loss = validation.found.scores.at("loss").value;
  if (!std::isfinite(loss)) return {};
  if (history_.best_validation == 0 || loss < history_.best_validation) {
    history_.best_validation = loss;
    history_.loss_at_best_validation = history_.last_loss;
  }
  return diagnose(
      Moment::validation,
      {.update = update, .history = history_, .settings = settings_, .validation = std::move(validation)});
}

std::vector<Finding> Diagnoses::diagnose(Moment moment, const Observations& o) {
  std::vector<Finding> found;
  for (const Diagnosis& row : table) {
    if (row.moment != moment) continue;
    if (moment == Moment::validation && o.update < o.history.peak + updates_between_checks) continue;
    const std::string text = row.find(o);
    auto& all = history_.seen;
    auto entry = std::ranges::find(all, row.id, &DiagnosisHistory::Seen::id);
    if (entry == all.end()) entry = all.insert(all.end(), {.id = std::string(row.id)});
    entry->times = text.empty() ? 0 : entry->times + 1;
    if (entry->reported || entry->times < row.times || o.update < row.from) continue;
    entry->reported = true;
    found.push_back({std::string(row.id), Severity::warning, fmt::format("{}. {}", text, row.advice), {}});
  }
  return found;
}

DiagnosisHistory after_rollback(const DiagnosisHistory& now, DiagnosisHistory earlier) {
  for (const DiagnosisHistory::Seen& seen : now.seen) {
    const auto entry = std::ranges::find(earlier.seen, seen.id, &DiagnosisHistory::Seen::id);
    if (entry != earlier.seen.end())
      entry->reported = entry->reported || seen.reported;
    else
      earlier.seen.push_back({.id = seen.id, .reported = seen.reported});
  }
  return earlier;
}

}  // namespace sixfold
