#pragma once
#include <memory>
#include <string_view>

#include "tasks/image_classification/config.h"
#include "tasks/kit/task_config.h"
#include "tasks/kit/task_entry.h"

namespace sixfold {

/// The config of a run that trains a classifier of images, an encoder of patches with a layer that predicts a
/// label (Dosovitskiy et al. 2021).
///
///     ImageClassificationOptions options;
///     options.data.train = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"};
///     options.train.minutes = 10;
///     train(ImageClassificationConfig(options), {.run = "run"});
class ImageClassificationConfig : public TaskConfigOf<ImageClassificationOptions> {
 public:
  using TaskConfigOf::TaskConfigOf;

  bool is_data_file(std::string_view name) const override;
  std::unique_ptr<Task> open(const TaskStart& start) const override;

 protected:
  std::vector<Finding> check_data(const std::atomic<int>* stop) const override;
  void require_start(ModelConfig& config) const override;
  HeadConfig expected_head() const override;
};

/// The entry of this task in the table of tasks.
TaskEntry image_classification_entry();

}  // namespace sixfold
