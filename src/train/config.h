#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "data/data_options.h"
#include "model/config.h"
#include "model/parameters.h"
#include "text/tokenizer_options.h"

namespace sixfold {

/// The type in which matrix products are taken; weights, sums and all else are fp32.
enum class Precision {
  automatic,  ///< what `choose_precision` chooses when the run begins
  fp32,
  bf16
};

/// The learning rate over the updates.
enum class ScheduleKind {
  noam,          ///< the paper's, section 5.3: factor * d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)
  inverse_sqrt,  ///< rises to the peak over the warmup, then falls as step^-0.5
  linear,        ///< rises to the peak, then falls on a line to 0 at the last update
  cosine,        ///< the same on half a wave
  constant,      ///< rises to the peak and stays
};

/// What is done when the loss of a batch leaps up.
enum class OnSpike { go_on, stop, rollback };

/// What validation measures.
enum class Metric { loss, perplexity, bleu, chrf };

template <>
struct EnumNames<Precision> {
  static constexpr std::pair<Precision, std::string_view> names[] = {
      {Precision::automatic, "auto"}, {Precision::fp32, "fp32"}, {Precision::bf16, "bf16"}};
};

template <>
struct EnumNames<ScheduleKind> {
  static constexpr std::pair<ScheduleKind, std::string_view> names[] = {
      {ScheduleKind::noam, "noam"},
      {ScheduleKind::inverse_sqrt, "inverse_sqrt"},
      {ScheduleKind::linear, "linear"},
      {ScheduleKind::cosine, "cosine"},
      {ScheduleKind::constant, "constant"}};
};

template <>
struct EnumNames<OnSpike> {
  static constexpr std::pair<OnSpike, std::string_view> names[] = {
      {OnSpike::go_on, "go_on"}, {OnSpike::stop, "stop"}, {OnSpike::rollback, "rollback"}};
};

template <>
struct EnumNames<Metric> {
  static constexpr std::pair<Metric, std::string_view> names[] = {{Metric::loss, "loss"},
                                                                  {Metric::perplexity, "perplexity"},
                                                                  {Metric::bleu, "bleu"},
                                                                  {Metric::chrf, "chrf"}};
};

/// An architecture that begins with the sizes of a preset, which single fields may change.
struct ModelOptions : Architecture {
  ModelOptions() : ModelOptions(Preset::base) {}
  explicit ModelOptions(Preset name) : Architecture(sixfold::preset(name)), preset_(name) {}
  /// What it began with.
  Preset preset() const { return preset_; }

 private:
  template <class Visitor>
  friend void visit(Visitor& v, ModelOptions& o);
  Preset preset_;
};

template <class Visitor>
void visit(Visitor& v, ModelOptions& o) {
  // What a file says of single sizes is read after the preset and so holds against it.
  if (v.field("preset", o.preset_, "sizes to begin with: tiny, small, base or big"))
    o = ModelOptions(o.preset_);
  visit(v, static_cast<Architecture&>(o));
}

/// What a run begins with instead of random weights.
struct StartOptions {
  std::string model;
  std::vector<ModelPart> freeze;
};

template <class Visitor>
void visit(Visitor& v, StartOptions& o) {
  v.field("model", o.model,
          "a model folder whose weights, sizes and tokenizers are taken; of model only dropout then counts");
  v.field("freeze", o.freeze, "parts that are not trained: of embeddings, encoder and decoder");
}

/// Training as such. It stops at the first of the stops that are given.
struct TrainingOptions {
  int64_t updates = 0;
  double epochs = 0;
  double minutes = 0;
  uint64_t seed = 1;
  float label_smoothing = 0.1f;
  float clip_norm = 0;
  int accumulate = 1;
  float ema_decay = 0;
  int average_last = 1;
  OnSpike on_spike = OnSpike::go_on;
  double spike_factor = 2;
  Precision precision = Precision::automatic;
  int threads = 0;
};

template <class Visitor>
void visit(Visitor& v, TrainingOptions& o) {
  v.field("updates", o.updates, "stop after so many updates; 0: no such stop", at_least(0));
  v.field("epochs", o.epochs, "stop after so many passes over the text; 0: no such stop", at_least(0));
  v.field("minutes", o.minutes, "stop after so many minutes; 0: no such stop", at_least(0));
  v.field("seed", o.seed, "random seed");
  v.field("label_smoothing", o.label_smoothing, "share of the probability given to all symbols alike",
          from_to_below(0, 1));
  v.field("clip_norm", o.clip_norm, "clip the global gradient norm to this; 0: off", at_least(0));
  v.field("accumulate", o.accumulate, "batches of one update", at_least(1));
  v.field("ema_decay", o.ema_decay, "moving average of the weights, used for validation and kept; 0: none",
          from_to_below(0, 1));
  v.field("average_last", o.average_last, "the model is the average of so many last checkpoints", at_least(1));
  v.field("on_spike", o.on_spike,
          "when a batch's loss leaps up: go_on, stop, or rollback to the last checkpoint and past the batch "
          "(as then "
          "for losses that are not finite)");
  v.field("spike_factor", o.spike_factor, "a spike is a loss above this multiple of its running mean",
          at_least(1));
  v.field("precision", o.precision,
          "of matrix products: fp32, bf16, or auto, bf16 where the processor is faster in it");
  v.field("threads", o.threads, "0: one for each core", between(0, 4096));
}

/// Adam (Kingma and Ba, 2015) with the paper's constants (section 5.3) and decoupled weight decay.
struct OptimizerOptions {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double weight_decay = 0;
};

template <class Visitor>
void visit(Visitor& v, OptimizerOptions& o) {
  v.field("beta1", o.beta1, "decay of the mean gradient", from_to_below(0, 1));
  v.field("beta2", o.beta2, "decay of the mean squared gradient", from_to_below(0, 1));
  v.field("epsilon", o.epsilon, "added to the root of the latter", between(1e-30, 1));
  v.field("weight_decay", o.weight_decay, "share of a weight taken off, times the learning rate; 0: none",
          at_least(0));
}

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::cosine;
  int64_t warmup = 0;
  double factor = 1;
  double learning_rate = 0;
};

template <class Visitor>
void visit(Visitor& v, ScheduleOptions& o) {
  v.field(
      "kind", o.kind,
      "cosine or linear (both fall to 0 at the end of the run), inverse_sqrt, constant, or noam, the paper's");
  v.field("warmup", o.warmup,
          "updates in which the rate rises; 0: a tenth of the run, at most 4000 (noam: 4000, as in the paper)",
          at_least(0));
  v.field("factor", o.factor, "noam: the paper's rate is multiplied by this", at_least(0));
  v.field("learning_rate", o.learning_rate,
          "the highest rate; 0: that of the paper's schedule, (4000 d_model)^-0.5 (noam has only that one)",
          at_least(0));
}

struct CheckpointOptions {
  int64_t every_updates = 1000;
  double every_minutes = 0;
  int keep_last = 2;
  bool keep_best = true;
};

template <class Visitor>
void visit(Visitor& v, CheckpointOptions& o) {
  v.field("every_updates", o.every_updates, "0: not by updates", at_least(0));
  v.field("every_minutes", o.every_minutes, "0: not by minutes", at_least(0));
  v.field("keep_last", o.keep_last, "older ones are removed", at_least(1));
  v.field("keep_best", o.keep_best, "keep the best at validation besides");
}

struct ValidationOptions {
  int64_t every_updates = 1000;
  double every_epochs = 0;
  std::vector<Metric> metrics = {Metric::loss, Metric::perplexity};
  Metric best_by = Metric::loss;
  int patience = 0;
  int beam_size = 1;
  int64_t max_sentences = 0;
};

template <class Visitor>
void visit(Visitor& v, ValidationOptions& o) {
  v.field("every_updates", o.every_updates, "0: not by updates", at_least(0));
  v.field("every_epochs", o.every_epochs, "0: not by epochs", at_least(0));
  v.field("metrics", o.metrics, "of loss, perplexity, bleu and chrf; the last two translate");
  v.field("best_by", o.best_by, "the metric that says which model is best");
  v.field("patience", o.patience, "stop after so many validations without a better one; 0: never", at_least(0));
  v.field("beam_size", o.beam_size, "of the search for bleu and chrf; 1 is greedy", between(1, 1000));
  v.field("max_sentences", o.max_sentences, "translate the first so many; 0: all", at_least(0));
}

struct LogOptions {
  int64_t every_updates = 100;
};

template <class Visitor>
void visit(Visitor& v, LogOptions& o) {
  v.field("every_updates", o.every_updates, "updates from one line of progress to the next", at_least(1));
}

/// All that `sixfold train` can be told: CONFIG.yaml.
struct TrainOptions {
  ModelOptions model;
  GenerationConfig generation;  ///< stored with the model
  StartOptions start;
  TokenizerOptions tokenizer;
  DataOptions data;
  TrainingOptions train;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  CheckpointOptions checkpoint;
  ValidationOptions validation;
  LogOptions log;
};

template <class Visitor>
void visit(Visitor& v, TrainOptions& o) {
  v.group("model", o.model, "the architecture");
  v.group("generation", o.generation,
          "how translations are searched for, stored with the model; of no effect beside start.model");
  v.group("start", o.start, "fine-tuning");
  v.group("tokenizer", o.tokenizer, "text to ids");
  v.group("data", o.data, "what to train on, and its batches");
  v.group("train", o.train, "training; it ends at the first stop that is reached");
  v.group("optimizer", o.optimizer, "Adam");
  v.group("schedule", o.schedule, "the learning rate");
  v.group("checkpoint", o.checkpoint, "what is kept, and how often");
  v.group("validation", o.validation, "how good the model is on other text");
  v.group("log", o.log, "progress");
}

/// Reads CONFIG.yaml and, over it, the `--set` assignments ("train.minutes=5"), and validates the result.
/// Throws an input error with file and line, or the assignment, and the key.
TrainOptions read_train_options(const std::string& yaml_path, const std::vector<std::string>& assignments = {});

/// Throws an input error naming the key: a value out of range, nothing to train on, no stop, or options that
/// contradict each other.
void validate(const TrainOptions& options);

/// What is worth a warning: settings that have no effect beside others, and a run that ends in its warm-up. One
/// sentence each. `last_update`: where the run ends; 0 where that is not known yet.
std::vector<std::string> advice_for(const TrainOptions& options, int64_t last_update);

/// Writes every option, as JSON, atomically, its paths absolute, so that they hold from any working directory;
/// and reads that again, with assignments over it.
void save_run_options(const std::string& path, TrainOptions options);
TrainOptions load_train_options(const std::string& json_path, const std::vector<std::string>& assignments = {});

/// Gives options that have names of version 0.1.0 their names of today. Returns whether there were any.
bool upgrade_train_options(OptionNode& root);

/// Every key with its default and what it means, as YAML that can be read.
std::string documented_train_options();

}  // namespace sixfold
