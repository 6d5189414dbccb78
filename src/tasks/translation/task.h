#pragma once
#include <memory>
#include <string_view>

#include "tasks/kit/task_config.h"
#include "tasks/kit/task_entry.h"
#include "tasks/translation/config.h"

namespace sixfold {

/// The config of a run that trains a translation model on parallel text.
///
///     TranslationOptions options;
///     options.data.train = {"train.en", "train.de"};
///     options.train.minutes = 60;
///     train(TranslationConfig(options), {.run = "run"});
class TranslationConfig : public TaskConfigOf<TranslationOptions> {
 public:
  using TaskConfigOf::TaskConfigOf;

  OptionNode read_stored(OptionNode stored) const override;
  bool is_data_file(std::string_view name) const override;
  std::unique_ptr<Task> open(const TaskStart& start) const override;

 protected:
  std::vector<Finding> check_data(const std::atomic<int>* stop) const override;
  void require_start(ModelConfig& config) const override;
};

/// The entry of this task in the table of tasks.
TaskEntry translation_entry();

}  // namespace sixfold
