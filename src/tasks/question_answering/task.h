#pragma once
#include <memory>
#include <string_view>

#include "tasks/kit/task_config.h"
#include "tasks/kit/task_entry.h"
#include "tasks/question_answering/config.h"

namespace sixfold {

/// The config of a run that trains a model to answer questions by parts of texts: an encoder with a layer that
/// scores each token as the start and as the end of the answer (Devlin et al. 2019, section 4.2).
///
///     QuestionAnsweringOptions options;
///     options.data.train = {"train-v1.1.json"};
///     options.train.minutes = 60;
///     train(QuestionAnsweringConfig(options), {.run = "run"});
class QuestionAnsweringConfig : public TaskConfigOf<QuestionAnsweringOptions> {
 public:
  using TaskConfigOf::TaskConfigOf;

  bool is_data_file(std::string_view name) const override;
  std::unique_ptr<Task> open(const TaskStart& start) const override;

 protected:
  std::vector<Finding> check_data(const std::atomic<int>* stop) const override;
  HeadConfig expected_head() const override;
};

/// The entry of this task in the table of tasks.
TaskEntry question_answering_entry();

}  // namespace sixfold
