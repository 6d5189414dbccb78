#pragma once
#include <string>

#include "tasks/language_model_config.h"
#include "train/task.h"

namespace sixfold {

/// The config of a run that trains a language model, a decoder without an encoder, on text.
///
///     LanguageModelOptions options;
///     options.data.train = {"train.txt"};
///     options.train.minutes = 60;
///     train(LanguageModelConfig(options), {.run = "run"});
class LanguageModelConfig : public TaskConfig {
 public:
  /// Throws as `validate(LanguageModelOptions)`.
  explicit LanguageModelConfig(const LanguageModelOptions& options);

  TrainOptions training() const override { return options_.training(); }
  OptionNode options() const override { return write_options(options_); }
  OptionNode read_stored(OptionNode stored) const override;
  OnResume on_resume(std::string_view key) const override;
  std::vector<std::string> advice() const override { return advice_for(options_); }
  bool is_data_file(std::string_view name) const override;
  void verify(const std::string& folder) const override;
  std::unique_ptr<Task> open(const TaskStart& start) const override;

 private:
  LanguageModelOptions options_;
};

}  // namespace sixfold
