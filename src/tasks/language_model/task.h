#pragma once
#include <memory>
#include <string_view>

#include "tasks/kit/task_config.h"
#include "tasks/kit/task_entry.h"
#include "tasks/language_model/config.h"

namespace sixfold {

/// The config of a run that trains a language model, a decoder without an encoder, on text.
///
///     LanguageModelOptions options;
///     options.data.train = {"train.txt"};
///     options.train.minutes = 60;
///     train(LanguageModelConfig(options), {.run = "run"});
class LanguageModelConfig : public TaskConfigOf<LanguageModelOptions> {
 public:
  using TaskConfigOf::TaskConfigOf;

  bool is_data_file(std::string_view name) const override;
  std::unique_ptr<Task> open(const TaskStart& start) const override;

 protected:
  std::vector<Finding> check_data(const std::atomic<int>* stop) const override;
  void require_start(ModelConfig& config) const override;
};

/// The entry of this task in the table of tasks.
TaskEntry language_model_entry();

}  // namespace sixfold
