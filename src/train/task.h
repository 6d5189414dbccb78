#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.h"
#include "data/check/finding.h"
#include "data/dataset.h"
#include "model/transformer.h"
#include "model_folder/model_folder.h"
#include "train/config.h"
#include "train/distributed/processes.h"

// The interface between the trainer and what is trained. A task consists of two classes: its config
// (`TaskConfig`), which is read before a run starts, and the task itself (`Task`), which holds the data and the
// sizes of the model. Both have default implementations for simple tasks. tests/train/copying.h is a complete
// example, with an encoder only.

namespace sixfold {

/// The options of the loss in training, except its scale.
inline ops::LossOptions loss_options(const TrainingOptions& options) {
  return {.label_smoothing = options.label_smoothing,
          .r_drop = options.r_drop,
          .link_weight = options.alignment_weight};
}

/// The value of a metric at validation.
struct Score {
  double value = 0;
  bool higher_is_better = false;
};
using Scores = std::map<std::string, Score>;  ///< by name: "loss", "bleu"
/// The scores that the trainer computes for every task.
inline constexpr std::string_view scores_of_trainer[] = {"loss", "perplexity"};

/// Cross-attention while the decoder reads a reference.
struct SampleAttention {
  int layer = 0;                            ///< counted from 0
  std::vector<std::string> source, target;  ///< tokens
  std::vector<float> weights;               ///< [target, source], means of the heads
};

/// A sample of the validation data with the output of the model, to be shown to users.
struct ValidationSample {
  std::string input, output, reference;
  std::optional<SampleAttention> attention;
};

/// Statistics of the outputs of a validation, which diagnoses (train/diagnosis.h) use.
class OutputFacts {
 public:
  /// `is_endless`: the output ends in a repetition, or has no end token.
  void add(const std::vector<int32_t>& source, const std::vector<int32_t>& output, const std::string& reference,
           bool is_endless);

  int64_t outputs = 0, endless = 0;
  /// `others`: number of outputs for samples whose source and reference differ from those of the first sample.
  /// `same`: number of these that are equal to the first output.
  int64_t others = 0, same = 0;

 private:
  std::vector<int32_t> first_source_, first_output_;
  std::string first_reference_;
};

/// The result of `Task::evaluate`.
struct Evaluation {
  Scores scores;
  std::vector<ValidationSample> samples;  ///< a few short ones, the same ones at each validation
  OutputFacts outputs;                    ///< statistics of the decoded outputs, if the task decodes any
};

/// The settings and resources of an evaluation.
struct EvaluationRun {
  int64_t part_tokens = 0;                  ///< maximum number of tokens to process at a time; 0: no limit
  std::shared_ptr<Arena> arena;             ///< memory of its buffers
  Processes& processes = Processes::one();  ///< they share the work, and all get the result
};

/// A task with its data. It is immutable; its const functions may be called from several threads.
class Task {
 public:
  virtual ~Task() = default;

  virtual const ModelConfig& model_config() const = 0;
  virtual const Dataset& training_data() const = 0;
  /// Null: there is no validation.
  virtual const Dataset* validation_data() const { return nullptr; }

  /// Copies the weights of start.model into the new model of a run. By default both have the same weights.
  /// Throws an input error if they don't fit.
  virtual void start_from(const std::string& folder, Transformer& model) const {
    load_folder_weights(folder, model);
  }

  /// The names of the weights of the run's model that `start_from` does not take from the folder.
  virtual std::vector<std::string> new_weights(const std::string& /*folder*/) const { return {}; }

  /// Returns the loss of a batch, summed over its labels: [1, 1] f64, in the backend's memory. The caller
  /// divides it by `Batch::loss_weight`. If the context records, `Tape::backward` computes the gradients.
  virtual Tensor loss(const Transformer& model, const Batch& batch, const ops::LossOptions& options,
                      Context& context) const {
    return model.loss(batch, options, context);
  }

  /// The names of the scores of `evaluate`.
  virtual std::vector<std::string> metrics() const { return {}; }
  /// Collective. Returns the scores of the task besides "loss" and "perplexity", which the trainer computes
  /// from `validation_data`, and samples, if the task has any. The model is packed.
  virtual Evaluation evaluate(const Transformer& /*model*/, const EvaluationRun& /*run*/) const { return {}; }
  /// Returns the number of bytes that `evaluate` needs besides the arena, for the memory forecast.
  virtual int64_t score_bytes(int64_t /*part_tokens*/) const { return 0; }

  /// Tunes settings of a finished model by measurements: sets generation settings and settings of the task in
  /// the config of `model`, which has the weights of the result, and may keep files that `write` adds from then
  /// on. Called by the root process alone, and by no other thread at the same time as `write`.
  virtual void measure(Transformer& /*model*/) const {}
  /// Returns an estimate of the time of `measure`: the number of tokens that training processes in this time.
  virtual int64_t measure_tokens() const { return 0; }

  /// Writes the files of a model besides config and weights, such as tokenizers, into a model folder.
  /// model_folder/ownership.cc lists the names of all such files; a run ends with an error if there are others.
  virtual void write(const std::string& /*folder*/) const {}
  /// Returns a description of the data for a model's history (model_folder/provenance.h): a JSON object.
  virtual std::string history() const { return "{}"; }
};

/// What happens if a key of the config has another value on resume than when the run started.
enum class OnResume {
  takes_effect,  ///< the new value applies from the next update on; the change is logged and recorded
  ignored,       ///< the key does not influence the results
  input_file,    ///< the value names input files: they may be renamed, but neither added nor left out
  refused,       ///< another value would make it a different run
};

/// The start of a run, or its continuation.
struct TaskStart {
  /// The run's folder, in which a task may store its data (model_folder/ownership.cc lists the names).
  std::string run;
  /// The model folder from which training continues: a checkpoint or start.model; empty: none.
  std::string model;
  /// For a resumed run: the hashes of its data, which must be unchanged.
  struct Resumed {
    std::string training, validation;  ///< `validation` is empty if there is none
  };
  std::optional<Resumed> resumed;
  int threads = 1;
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// The parameters of `TaskConfig::check`.
struct CheckRequest {
  std::string folder = ".";                ///< the folder in which the run will be written, or a parent of it
  const std::atomic<int>* stop = nullptr;  ///< when it becomes nonzero, `Cancelled` is thrown
};

/// The config of a run: the trainer's groups and those of the task. It has been validated.
class TaskConfig {
 public:
  virtual ~TaskConfig() = default;

  /// The name of the task.
  virtual std::string_view task() const { return {}; }
  /// The options that the trainer reads.
  virtual TrainOptions training() const = 0;
  /// All options as a tree. A run stores it, and compares it with the stored one when it is resumed.
  virtual OptionNode options() const = 0;
  /// Converts options that an earlier version may have stored to the form of `options`. Throws an input error
  /// if they are invalid.
  virtual OptionNode read_stored(OptionNode stored) const = 0;
  /// Returns what happens if a key of the task ("model.dropout") has another value on resume.
  virtual OnResume on_resume(std::string_view /*key*/) const { return OnResume::refused; }
  /// Returns warnings about settings that have no effect together with others, one sentence each.
  virtual std::vector<std::string> advice() const { return {}; }

  /// Checks the data and the settings before a run, in a few seconds. Returns findings for the user. Throws an
  /// input error if the data can't be read.
  virtual std::vector<Finding> check(const CheckRequest& /*request*/) const { return {}; }

  /// Whether the task stores a file of this name in its subfolder of the run's folder.
  virtual bool is_data_file(std::string_view /*name*/) const { return false; }
  /// Throws an input error if files that `Task::write` wrote into a model folder are missing or belong to
  /// another model.
  virtual void verify(const std::string& /*folder*/) const {}

  /// Reads the data. Throws an input error if the data or the model to start from do not fit the config, or if
  /// the data are not those of the resumed run.
  virtual std::unique_ptr<Task> open(const TaskStart& start) const = 0;
};

}  // namespace sixfold
