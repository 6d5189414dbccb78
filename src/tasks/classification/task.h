#pragma once
#include <memory>
#include <string_view>

#include "tasks/classification/config.h"
#include "tasks/kit/task_config.h"
#include "tasks/kit/task_entry.h"

namespace sixfold {

/// The config of a run that trains a classifier, an encoder with a layer that predicts a label, on labelled
/// texts.
///
///     ClassificationOptions options;
///     options.data.train = {"train.tsv"};
///     options.train.minutes = 10;
///     train(ClassificationConfig(options), {.run = "run"});
class ClassificationConfig : public TaskConfigOf<ClassificationOptions> {
 public:
  using TaskConfigOf::TaskConfigOf;

  bool is_data_file(std::string_view name) const override;
  std::unique_ptr<Task> open(const TaskStart& start) const override;

 protected:
  std::vector<Finding> check_data(const std::atomic<int>* stop) const override;
  HeadConfig expected_head() const override;
};

/// The entry of this task in the table of tasks.
TaskEntry classification_entry();

}  // namespace sixfold
