#pragma once
#include <string>
#include <vector>

#include "tasks/translation_config.h"
#include "train/task.h"

namespace sixfold {

/// The config of a run that trains a translation model on parallel text.
///
///     TranslationOptions options;
///     options.data.train = {"train.en", "train.de"};
///     options.train.minutes = 60;
///     train(TranslationConfig(options), {.run = "run"});
class TranslationConfig : public TaskConfig {
 public:
  /// Throws as `validate(TranslationOptions)`.
  explicit TranslationConfig(const TranslationOptions& options);

  TrainOptions training() const override { return options_.training(); }
  OptionNode options() const override { return write_options(options_); }
  OptionNode read_stored(OptionNode stored) const override;
  OnResume on_resume(std::string_view key) const override;
  std::vector<std::string> advice() const override { return advice_for(options_); }
  bool is_data_file(std::string_view name) const override;
  void verify(const std::string& folder) const override;
  std::unique_ptr<Task> open(const TaskStart& start) const override;

 private:
  TranslationOptions options_;
};

}  // namespace sixfold
