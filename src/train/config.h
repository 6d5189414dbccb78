#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "model/layers/parameters.h"

namespace sixfold {

/// The type to which the operands of matrix products are rounded. Weights, sums and everything else are fp32.
enum class Precision {
  automatic,  ///< chosen by `chosen_precision` when the run begins
  fp32,
  bf16
};

/// How gradients change the weights.
enum class OptimizerKind {
  adam,       ///< Kingma and Ba (2015), with the paper's constants (section 5.3) and decoupled weight decay
  adafactor,  ///< Shazeer and Stern (2018), as in fairseq: the second moments of a matrix are factored
  sgd,        ///< stochastic gradient descent, with momentum as in PyTorch
};

/// The learning rate as a function of the update. All but noam rise linearly to their peak during warmup.
enum class ScheduleKind {
  noam,          ///< the schedule of section 5.3 of the paper: factor * d_model^-0.5 * min(step^-0.5, step *
                 ///< warmup^-1.5)
  inverse_sqrt,  ///< decays as step^-0.5
  linear,        ///< decays linearly to its lowest rate at the last update
  cosine,        ///< decays to its lowest rate at the last update along half a cosine
  constant,      ///< stays at its peak
  polynomial,    ///< as linear, with the remaining share of the run raised to a power (fairseq's
                 ///< polynomial_decay)
  wsd,           ///< warm-up, stable, decay: stays at its peak, and decays as polynomial near the end
  plateau,       ///< is multiplied by a factor whenever validation stalls (PyTorch's ReduceLROnPlateau)
};

/// What a run does if the loss of a batch spikes (`Verdict::spike`).
enum class OnSpike { go_on, stop, rollback };

template <>
struct EnumNames<Precision> {
  static constexpr std::pair<Precision, std::string_view> names[] = {
      {Precision::automatic, "auto"}, {Precision::fp32, "fp32"}, {Precision::bf16, "bf16"}};
};

template <>
struct EnumNames<OptimizerKind> {
  static constexpr std::pair<OptimizerKind, std::string_view> names[] = {
      {OptimizerKind::adam, "adam"}, {OptimizerKind::adafactor, "adafactor"}, {OptimizerKind::sgd, "sgd"}};
};

template <>
struct EnumNames<ScheduleKind> {
  static constexpr std::pair<ScheduleKind, std::string_view> names[] = {
      {ScheduleKind::noam, "noam"},         {ScheduleKind::inverse_sqrt, "inverse_sqrt"},
      {ScheduleKind::linear, "linear"},     {ScheduleKind::cosine, "cosine"},
      {ScheduleKind::constant, "constant"}, {ScheduleKind::polynomial, "polynomial"},
      {ScheduleKind::wsd, "wsd"},           {ScheduleKind::plateau, "plateau"}};
};

template <>
struct EnumNames<OnSpike> {
  static constexpr std::pair<OnSpike, std::string_view> names[] = {
      {OnSpike::go_on, "go_on"}, {OnSpike::stop, "stop"}, {OnSpike::rollback, "rollback"}};
};

/// The model that training starts from, instead of random weights.
struct StartOptions {
  std::string model;
  std::vector<ModelPart> freeze;
  int lora_rank = 0;
  double lora_alpha = 0;
  std::vector<std::string> lora_projections;
  bool lora_merge = true;
};

inline void visit(OptionVisitor& v, StartOptions& o) {
  v.field(
      "model", o.model,
      "fine-tune this model: take weights, sizes and tokenizers from its folder; of the group model only the "
      "dropout rates then apply");
  v.field("freeze", o.freeze,
          "parts whose weights stay fixed: embeddings (with the output projection), encoder, decoder");
  v.field("lora_rank", o.lora_rank,
          "LoRA: keep the model's weights fixed, and train beside each linear map of its layers an adapter of "
          "this rank (usual 4 to 64); 0: off",
          between(0, 4096));
  v.field("lora_alpha", o.lora_alpha,
          "an adapter's change of a weight is multiplied by this divided by lora_rank; 0: by 1", at_least(0));
  v.field("lora_projections", o.lora_projections,
          "names of the linear maps that get an adapter, such as q_proj, v_proj, fc1, or encoder_attn.v_proj; "
          "empty: all");
  v.field("lora_merge", o.lora_merge,
          "write a finished model with its adapters merged into its weights; false: a small folder with the "
          "adapters alone, which needs start.model when it is opened");
}

/// A finished model that the model in training learns from besides its data: distillation.
struct TeacherOptions {
  std::string model;
  double weight = 1, temperature = 1;
};

inline void visit(OptionVisitor& v, TeacherOptions& o) {
  v.field("model", o.model,
          "distillation: the folder of a finished model, whose predictions the model learns to make; the "
          "tokenizers are those of this model");
  v.field("weight", o.weight,
          "factor of the divergence from the teacher's predictions, which is added to the loss",
          between(1e-3, 1e3));
  v.field("temperature", o.temperature,
          "divides the logits of both models before they are compared: above 1, unlikely tokens count more",
          between(0.1, 100));
}

/// The type in which the processes of a run send gradients to each other.
enum class WireType { fp32, bf16 };

template <>
struct EnumNames<WireType> {
  static constexpr std::pair<WireType, std::string_view> names[] = {{WireType::fp32, "fp32"},
                                                                    {WireType::bf16, "bf16"}};
};

/// Training with several processes (docs/scaling.md).
struct DistributedOptions {
  double timeout = 60;
  WireType wire = WireType::fp32;
};

inline void visit(OptionVisitor& v, DistributedOptions& o) {
  v.field("timeout", o.timeout,
          "number of seconds after which a process that is not heard of has failed, and the run ends",
          between(2, 86400));
  v.field(
      "wire", o.wire,
      "type in which gradients are sent: fp32, or bf16, which halves their bytes but makes the results depend "
      "on the number of processes");
}

/// How samples become batches.
struct BatchOptions {
  int batch_tokens = 8192;
  int micro_batch_tokens = 4096;
  bool shuffle = true;
};

inline void visit(OptionVisitor& v, BatchOptions& o) {
  v.field("batch_tokens", o.batch_tokens, "maximum number of source and target tokens of a batch", at_least(1));
  v.field("micro_batch_tokens", o.micro_batch_tokens,
          "process a batch in micro-batches of at most this many tokens, to save memory; 0: process it whole",
          at_least(0));
  v.field("shuffle", o.shuffle, "shuffle the samples in each epoch");
}

/// Options of the training loop. Training ends when the first of the given limits is reached.
struct TrainingOptions {
  int64_t updates = 0;
  double epochs = 0;
  double minutes = 0;
  uint64_t seed = 1;
  float label_smoothing = 0.1f;
  double r_drop = 0, layer_drop = 0, alignment_weight = 0.1;
  float clip_norm = 0;
  int accumulate = 1;
  int shards = 0;
  float ema_decay = 0;
  int average_last = 1;
  OnSpike on_spike = OnSpike::go_on;
  double spike_factor = 2;
  Precision precision = Precision::automatic;
  int threads = 0;
};

inline void visit(OptionVisitor& v, TrainingOptions& o) {
  v.field("updates", o.updates, "end training after this many updates; 0: no limit", at_least(0));
  v.field("epochs", o.epochs,
          "end training after this many passes over the text, with the batch in which the last one ends; 0: no "
          "limit",
          between(0, 1e9));
  v.field("minutes", o.minutes,
          "end training after this many minutes, with validation and writing but without reading the data; 0: "
          "no limit",
          at_least(0));
  v.field("seed", o.seed, "random seed");
  v.field("label_smoothing", o.label_smoothing,
          "probability that is spread evenly over all tokens of the vocabulary", from_to_below(0, 1));
  v.field(
      "r_drop", o.r_drop,
      "R-Drop: compute each batch twice with other dropout, and add this factor times the divergence of the "
      "two predictions to the loss (usual 1 to 5); 0: off",
      between(0, 1e3));
  v.field(
      "layer_drop", o.layer_drop,
      "probability with which an update leaves out a layer of the encoder or the decoder (usual 0.1 to 0.2)",
      from_to_below(0, 1));
  v.field("alignment_weight", o.alignment_weight,
          "factor of the loss by which cross-attention follows data.alignments, if there are any",
          between(1e-6, 1e3));
  v.field("clip_norm", o.clip_norm, "clip the global gradient norm to this; 0: off", at_least(0));
  v.field("accumulate", o.accumulate, "number of batches whose gradients are accumulated for one update",
          at_least(1));
  v.field("shards", o.shards,
          "number of shards into which the batch of an update is divided, for as many processes at most; 0: as "
          "many "
          "as there are processes when the run begins",
          between(0, 4096));
  v.field("ema_decay", o.ema_decay,
          "decay of an exponential moving average of the weights, which is validated and saved; 0: off",
          from_to_below(0, 1));
  v.field("average_last", o.average_last,
          "save the average of this many last checkpoints as the model; with ema_decay, of their averages",
          at_least(1));
  v.field("on_spike", o.on_spike,
          "what to do when the loss of a batch spikes: go_on, stop, or rollback, which returns to the last "
          "checkpoint and skips the batch, also if a loss is not finite");
  v.field("spike_factor", o.spike_factor, "a spike is a loss above this multiple of its running mean",
          at_least(1));
  v.field("precision", o.precision,
          "type of the operands of matrix products: fp32, bf16, or auto, which chooses bf16 if it is faster on "
          "this processor");
  v.field("threads", o.threads, "number of threads; 0: one for each core", between(0, 4096));
}

/// The defaults of Adam are those of section 5.3 of the paper. `validate` refuses options that do not belong to
/// the kind.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adam;
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double weight_decay = 0;
  double momentum = 0;
  bool nesterov = false;
  double decay_rate = 0.8;
  double clip_threshold = 1;
  bool scale_parameter = false;
};

inline void visit(OptionVisitor& v, OptimizerOptions& o) {
  v.field("kind", o.kind,
          "adam, adafactor (needs little memory for its state) or sgd (stochastic gradient descent)");
  v.field("beta1", o.beta1, "adam only: decay of the moving average of gradients", from_to_below(0, 1));
  v.field("beta2", o.beta2, "adam only: decay of the moving average of squared gradients", from_to_below(0, 1));
  v.field("epsilon", o.epsilon, "adam only: added to the square root of the averaged squared gradient",
          between(1e-30, 1));
  v.field("weight_decay", o.weight_decay,
          "decoupled weight decay: each update subtracts learning rate * this * weight (sgd: the gradient has "
          "this * weight added, as in PyTorch); 0: off",
          at_least(0));
  v.field("momentum", o.momentum,
          "sgd: share of the last step that is added to the next one; adafactor: decay of the moving average "
          "of steps, fairseq's beta1; 0: off, which saves memory",
          from_to_below(0, 1));
  v.field("nesterov", o.nesterov, "sgd only: Nesterov's momentum");
  v.field("decay_rate", o.decay_rate,
          "adafactor only: the decay of the moving average of squared gradients is 1 - update^-this",
          between(0, 10));
  v.field("clip_threshold", o.clip_threshold,
          "adafactor only: the step of a weight is scaled down to this root mean square", above(0));
  v.field("scale_parameter", o.scale_parameter,
          "adafactor only: multiply the learning rate by the root mean square of the weight, at least 0.001");
}

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::cosine;
  int64_t warmup = 0;
  double factor = 1;
  double learning_rate = 0;
  double first_rate = 0;
  double min_rate = 0;
  double power = 1;
  int64_t decay = 0;
  double plateau_factor = 0.1;
  int plateau_patience = 3;
};

inline void visit(OptionVisitor& v, ScheduleOptions& o) {
  v.field("kind", o.kind,
          "cosine, linear or polynomial (which decay to min_rate at the end of the run), wsd (warm-up, stable, "
          "decay), inverse_sqrt, constant, plateau (decays when validation stalls), or noam, the paper's");
  v.field(
      "warmup", o.warmup,
      "number of updates in which the rate rises; 0: a tenth of the run, at most 4000 (noam: 4000, as in the "
      "paper)",
      at_least(0));
  v.field("factor", o.factor, "noam only: multiplies the paper's rate", at_least(0));
  v.field("learning_rate", o.learning_rate,
          "peak rate; 0: that of the paper's schedule, (4000 d_model)^-0.5 (noam always uses that)",
          at_least(0));
  v.field("first_rate", o.first_rate, "rate from which the warm-up rises to the peak", at_least(0));
  v.field("min_rate", o.min_rate,
          "lowest rate after the warm-up: cosine, linear, polynomial and wsd decay to it, inverse_sqrt and "
          "plateau stop at it",
          at_least(0));
  v.field("power", o.power,
          "polynomial and wsd only: power of what is left of the decay, from 1 to 0; 1: a straight line",
          above(0));
  v.field("decay", o.decay,
          "wsd only: number of updates at the end in which the rate decays; 0: a tenth of the run",
          at_least(0));
  v.field("plateau_factor", o.plateau_factor, "plateau only: what a stall multiplies the rate by",
          from_to_below(0, 1));
  v.field("plateau_patience", o.plateau_patience,
          "plateau only: number of validations in a row without improvement that are a stall", at_least(1));
}

struct CheckpointOptions {
  int64_t every_updates = 1000;
  double every_minutes = 0;
  int keep_last = 2;
  bool keep_best = true;
};

inline void visit(OptionVisitor& v, CheckpointOptions& o) {
  v.field("every_updates", o.every_updates, "number of updates between checkpoints; 0: off", at_least(0));
  v.field("every_minutes", o.every_minutes, "number of minutes between checkpoints; 0: off", at_least(0));
  v.field("keep_last", o.keep_last, "number of checkpoints to keep; older ones are removed", at_least(1));
  v.field("keep_best", o.keep_best, "also keep the model that was best at validation");
}

/// When the model is validated. The task decides what is measured.
struct ValidationOptions {
  int64_t every_updates = 1000;
  double every_epochs = 0;
  int patience = 0;
};

inline void visit_interval(OptionVisitor& v, ValidationOptions& o) {
  v.field("every_updates", o.every_updates, "number of updates between validations; 0: off", at_least(0));
  v.field("every_epochs", o.every_epochs, "number of epochs between validations; 0: off", at_least(0));
}

inline void visit_patience(OptionVisitor& v, ValidationOptions& o) {
  v.field("patience", o.patience, "end training after this many validations without improvement; 0: never",
          at_least(0));
}

/// The fields are visited in two parts, so that a task can insert fields of its own between them.
inline void visit(OptionVisitor& v, ValidationOptions& o) {
  visit_interval(v, o);
  visit_patience(v, o);
}

struct LogOptions {
  int64_t every_updates = 100;
};

inline void visit(OptionVisitor& v, LogOptions& o) {
  v.field("every_updates", o.every_updates,
          "number of updates between lines of progress, after the first lines at updates 1, 2, 5, 10, 20, ...",
          at_least(1));
}

/// The groups of a run's config (CONFIG.yaml) that are the same for all tasks.
struct TrainingGroups {
  StartOptions start;
  TeacherOptions teacher;
  TrainingOptions train;
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  CheckpointOptions checkpoint;
  LogOptions log;
  DistributedOptions distributed;

  /// The model folder whose tokenizers a new run uses; empty: they are made as the config specifies.
  const std::string& tokenizers_from() const { return start.model.empty() ? teacher.model : start.model; }
};

/// The part of a run's config that the trainer reads. The other groups, and the other keys of `data` and
/// `validation`, belong to the task.
struct TrainOptions : TrainingGroups {
  BatchOptions data;
  ValidationOptions validation;
  /// The validation score that decides which model is best. It is a key of the config only if the task offers a
  /// choice.
  std::string best_by = "loss";
};

/// Visits the groups that the configs of all tasks have. `o` is the config of a task, or `TrainOptions`.
template <class Options>
void visit_training_groups(OptionVisitor& v, Options& o) {
  v.group("start", o.start, "fine-tuning of an existing model");
  v.group("teacher", o.teacher, "learning from a finished model");
  v.group("data", o.data, "training data, validation data and batches");
  v.group("train", o.train, "the training loop; training ends at the first limit that is reached");
  v.group("optimizer", o.optimizer, "how gradients change the weights");
  v.group("schedule", o.schedule, "the learning rate");
  v.group("checkpoint", o.checkpoint, "when to save checkpoints, and which to keep");
  v.group("validation", o.validation, "when and how to evaluate the model on the validation data");
  v.group("log", o.log, "progress messages");
  v.group("distributed", o.distributed, "training with several processes, which a launcher of MPI starts");
}

inline void visit(OptionVisitor& v, TrainOptions& o) { visit_training_groups(v, o); }

/// Throws an input error that names the key if a value is out of range, no limit ends the training, or options
/// contradict each other.
void validate(const TrainOptions& options);

/// Returns warnings, one sentence each: about settings that have no effect together with others, and about a
/// run that ends during its warmup. `last_update` is the update with which the run ends, or 0 if it is not
/// known yet.
std::vector<std::string> advice_for(const TrainOptions& options, int64_t last_update);

}  // namespace sixfold
