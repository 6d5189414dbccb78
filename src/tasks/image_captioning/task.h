#pragma once
#include <memory>
#include <string_view>

#include "tasks/image_captioning/config.h"
#include "tasks/kit/task_config.h"
#include "tasks/kit/task_entry.h"

namespace sixfold {

/// The config of a run that trains a model to caption images: an encoder of patches (Dosovitskiy et al. 2021)
/// and the decoder of the original Transformer, which attends to them.
///
///     ImageCaptioningOptions options;
///     options.data.train = {"train.images", "train.captions"};
///     options.train.minutes = 10;
///     train(ImageCaptioningConfig(options), {.run = "run"});
class ImageCaptioningConfig : public TaskConfigOf<ImageCaptioningOptions> {
 public:
  using TaskConfigOf::TaskConfigOf;

  bool is_data_file(std::string_view name) const override;
  std::unique_ptr<Task> open(const TaskStart& start) const override;

 protected:
  std::vector<Finding> check_data(const std::atomic<int>* stop) const override;
  void require_start(ModelConfig& config) const override;
};

/// The entry of this task in the table of tasks.
TaskEntry image_captioning_entry();

}  // namespace sixfold
