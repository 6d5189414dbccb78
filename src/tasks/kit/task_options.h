#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/config.h"
#include "tasks/kit/model_options.h"
#include "text/tokenizer_options.h"
#include "text/tokenizers.h"
#include "train/config.h"

namespace sixfold {

/// The config of a run: the groups that all tasks have. `Data` (derived from `BatchOptions`) and `Validation`
/// (derived from `ValidationOptions`) depend on the task.
template <class Data, class Validation = ValidationOptions>
struct TaskOptions : TrainingGroups {
  ModelOptions model;
  GenerationConfig generation;  ///< stored with the model
  TokenizerOptions tokenizer;
  Data data;
  Validation validation;
};

/// The metric that decides which model is best. Tasks with further metrics overload it.
inline std::string best_metric(const ValidationOptions& /*validation*/) { return "loss"; }

/// Returns the options that the trainer reads.
template <class Data, class Validation>
TrainOptions training_of(const TaskOptions<Data, Validation>& o) {
  TrainOptions options;
  static_cast<TrainingGroups&>(options) = o;
  options.data = o.data;
  options.validation = o.validation;
  options.best_by = best_metric(o.validation);
  return options;
}

template <class Data, class Validation>
void visit(OptionVisitor& v, TaskOptions<Data, Validation>& o) {
  v.group("model", o.model, "the architecture");
  v.group("generation", o.generation,
          "generation settings, saved with the model; no effect together with start.model");
  v.group("tokenizer", o.tokenizer, "how text is split into tokens");
  visit_training_groups(v, o);
}

/// Throws an input error that names the key if a value of these groups is out of range, there is no training
/// data, no limit ends the training, or options contradict each other. `data` says what to give as data.train:
/// "a text file".
template <class Options>
void validate_groups(const Options& o, std::string_view data) {
  check_ranges(o);
  if constexpr (requires { o.task; })
    require(o.task == Options::task_name, "task: is '{}', expected {}", o.task, Options::task_name);
  validate(static_cast<const Architecture&>(o.model));
  require(!o.data.train.empty(), "data.train: there is no training data; give {}", data);
  if constexpr (requires { o.generation; })
    if (o.start.model.empty()) validate_for(o.generation, o.model);
  validate(training_of(o));
  if constexpr (requires { o.tokenizer; })
    if (o.tokenizers_from().empty()) validate(o.tokenizer);
  require(o.validation.patience == 0 || !o.data.valid.empty(),
          "validation.patience: there is no validation data; give it in data.valid");
  require(o.schedule.kind != ScheduleKind::plateau || !o.data.valid.empty(),
          "schedule.kind: plateau needs validation data; give it in data.valid");
}

/// The groups that describe a model.
struct ModelGroups {
  const ModelOptions& model;
  const GenerationConfig& generation;
  const TokenizerOptions& tokenizer;
};

/// The groups of a task's options. The options must outlive the result.
template <class Options>
ModelGroups model_groups(const Options& o) {
  return {o.model, o.generation, o.tokenizer};
}

/// Returns warnings about settings of these groups that have no effect together with others, one sentence each.
/// `defaults`: the groups with their default values.
std::vector<std::string> advice_on_model(const ModelGroups& groups, const ModelGroups& defaults,
                                         const TrainingGroups& run);

/// Returns warnings about generation settings that were changed although the task does not use them.
/// `without_effect`: the settings that are not used; empty: all. `why`: the reason, such as "a classifier
/// generates no text".
std::vector<std::string> advice_on_generation(const ModelGroups& groups, const ModelGroups& defaults,
                                              const StartOptions& start,
                                              std::span<const std::string_view> without_effect,
                                              std::string_view why);

/// The config of the model in start.model; nothing if there is none, or it can't be read, which training
/// reports.
std::optional<ModelConfig> start_config(const std::string& folder);

/// The warnings of `advice_on_model` and `advice_on_generation` for a model without a decoder.
template <class Options>
std::vector<std::string> advice_on_encoder(const Options& o, const Options& defaults, std::string_view why) {
  std::vector<std::string> advice = advice_on_model(model_groups(o), model_groups(defaults), o);
  for (std::string& more : advice_on_generation(model_groups(o), model_groups(defaults), o.start, {}, why))
    advice.push_back(std::move(more));
  return advice;
}

/// Returns the config of the run's model, whose tokenizers are not bound yet: the architecture of the options,
/// or, if training starts from the model folder `from`, that model's config with the dropout rates of the
/// options.
ModelConfig initial_config(const ModelOptions& model, const GenerationConfig& generation,
                           const std::string& from);

/// Throws an input error that begins with the place of a key ("model.decoder_layers") if it has another value
/// than `allowed`. `why`: the reason, such as "a classifier has no decoder".
void refuse_key(OptionNode& root, std::string_view path, std::string_view allowed, std::string_view why);
/// The same for the keys of the tokenizer that only apply to tasks with a source and a target.
void refuse_second_tokenizer(OptionNode& root, std::string_view why, const TokenizerOptions& defaults);

/// Sets the normalization of the target side to that of the source, for tasks with a single tokenizer.
void normalize_alike(TokenizerOptions& tokenizer);

/// Throws an input error that names the key if `norm: batch` would normalize over parts of too few tokens. A
/// part of a batch always has a whole sample, but options that ask for parts of single tokens are a mistake.
void check_batch_norm(const Architecture& model, const BatchOptions& data);

/// Validates options that were read from a file; the input error begins with `where`.
template <class Options>
void validate_at(const Options& options, const std::string& where) {
  try {
    validate(options);
  } catch (const Error& error) {
    throw_input_error("{}: {}", where, error.what());
  }
}

}  // namespace sixfold
