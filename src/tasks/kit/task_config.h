#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model_folder/model_folder.h"
#include "tasks/kit/encoder_task.h"
#include "tasks/kit/run_check.h"
#include "tasks/kit/task_options.h"
#include "train/task.h"

namespace sixfold {

/// Returns what happens if a key of a task has another value when a run is resumed. All tasks have the same
/// rules: changed dropout rates take effect, input files may be renamed, and changes of the model or the data
/// are refused.
OnResume on_resume_of_task(std::string_view key);

/// Throws an input error unless the tokenizers of a model folder are those that its config names.
void verify_tokenizers(const std::string& folder);

/// Throws an input error unless the maps that start.lora_projections names are those of a model.
void require_projections(const ModelConfig& config, const StartOptions& start);

/// Adds a finding with the message of the input error that `check` throws, behind `prefix`; none if it does
/// not.
void report_error(std::string id, const std::string& prefix, std::vector<Finding>& findings,
                  const std::function<void()>& check);

/// The folder in which a run keeps its encoded data.
std::string encoded_data_of(const TaskStart& start);

/// The config of a run whose options are a struct, derived from `TaskOptions`. A task derives its config from
/// this class and adds `open` and `check_data`, and `is_data_file` if it stores its data. The struct has
/// functions `validate` and `advice_for`.
template <class Options>
class TaskConfigOf : public TaskConfig {
 public:
  /// Throws as `validate(Options)`.
  explicit TaskConfigOf(const Options& options) : options_(validated(options)) {}

  std::string_view task() const override { return Options::task_name; }
  TrainOptions training() const override { return training_of(options_); }
  OptionNode options() const override { return write_options(options_); }
  OptionNode read_stored(OptionNode stored) const override {
    Options options;
    read_options(stored, options);
    return write_options(options);
  }
  OnResume on_resume(std::string_view key) const override { return on_resume_of_task(key); }
  std::vector<std::string> advice() const override {
    std::vector<std::string> advice = advice_for(options_);
    if constexpr (!requires { options_.data.alignments; })
      if (options_.train.alignment_weight != TrainOptions().train.alignment_weight)
        advice.emplace_back("train.alignment_weight has no effect: only translations are aligned");
    return advice;
  }
  void verify(const std::string& folder) const override { verify_tokenizers(folder); }
  std::vector<Finding> check(const CheckRequest& request) const final {
    std::vector<Finding> findings = check_data(request.stop);
    if (const std::string& start = options_.start.model; !start.empty())
      report_error("start-model", "start.model: ", findings, [&] {
        ModelConfig config = load_model_config(start);
        require_start(config);
        report_error("lora-projections", "", findings, [&] { require_projections(config, options_.start); });
      });
    if (const std::string& teacher = options_.teacher.model; !teacher.empty())
      report_error("teacher-model", "teacher.model: ", findings, [&] {
        const std::string other = load_model_config(teacher).task;
        require(other == task(),
                "{}: is a model of the task {}, and the run is of {}; choose one of the same task", teacher,
                other, task());
      });
    if constexpr (!requires { options_.image; })
      if (options_.tokenizers_from().empty())
        check_vocabulary(options_.tokenizer, options_.data.train, findings);
    check_resources(options_, expected_head(), request.folder, findings);
    return findings;
  }

 protected:
  /// Returns the findings of `check` about the data (data/check/checks.h).
  virtual std::vector<Finding> check_data(const std::atomic<int>* stop) const = 0;
  /// Throws an input error unless a run can start from a model with this config, that of start.model, and
  /// leaves in it the parts that the run takes: by default the encoder.
  virtual void require_start(ModelConfig& config) const { keep_encoder(config, options_.start.model, task()); }
  /// The head of the model, as far as it is known before the data are read.
  virtual HeadConfig expected_head() const { return {}; }

  const Options options_;

 private:
  static const Options& validated(const Options& options) {
    validate(options);
    return options;
  }
};

}  // namespace sixfold
