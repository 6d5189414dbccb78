#include "tasks/kit/image_data.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/join.h"
#include "data/image_reader.h"
#include "tasks/kit/task_config.h"

namespace sixfold {

void check_pairs(const ImageFilesOptions& data, std::string_view texts) {
  require(data.train.size() % 2 == 0 && data.valid.size() % 2 == 0,
          "data.{}: there is an odd number of files; alternate files of images and of their {}",
          data.train.size() % 2 != 0 ? "train" : "valid", texts);
}

std::string settings_of_images(const TaskStart& start, const ImageFilesOptions& data) {
  if (start.resumed) return {};
  return fmt::format(" {} {}", fingerprint_of_images(data.train), fingerprint_of_images(data.valid));
}

namespace {

std::string describe(const ImageInput& image) {
  return fmt::format("images of {} in patches of {} pixels that are {} apart, {} class token, mean {}, std {}",
                     ImageSize{image.height, image.width, image.channels}.describe(), image.patch, image.step(),
                     image.class_token ? "with a" : "without a", join(image.mean), join(image.std));
}

}  // namespace

ImageInput image_input(const PatchOptions& patches, const Augmentation& augmentation, const ImageSize& size) {
  ImageInput image = patches;
  image.height = size.height, image.width = size.width, image.channels = size.channels;
  validate(image);
  require(augmentation.shift < std::min(size.height, size.width),
          "data.shift is {}, but the images are {} x {} pixels, which would leave the picture; choose less",
          augmentation.shift, size.height, size.width);
  require(augmentation.cut_out < std::max(size.height, size.width),
          "data.cut_out is {}, but the images are {} x {} pixels, of which nothing may be left; choose less",
          augmentation.cut_out, size.height, size.width);
  return image;
}

void set_image_input(ModelConfig& config, const PatchOptions& patches, const Augmentation& augmentation,
                     const TaskStart& start) {
  const ImageSize size = stored_image(map_sequences(encoded_data_of(start), /*validation=*/false)[0]).size;
  const ImageInput image = image_input(patches, augmentation, size);
  const ImageInput& start_image = config.image;
  require(start.model.empty() ||
              (start_image.height == image.height && start_image.width == image.width &&
               start_image.channels == image.channels && start_image.patch == image.patch &&
               start_image.step() == image.step() && start_image.class_token == image.class_token &&
               start_image.mean == image.mean && start_image.std == image.std),
          "{}: reads {}, but the data and the group image have {}", start.model, describe(start_image),
          describe(image));
  config.image = image;
}

std::string describe_images(const ModelConfig& config) {
  return fmt::format("images of {}",
                     ImageSize{config.image.height, config.image.width, config.image.channels}.describe());
}

PatchCutter cutter_of(const ModelConfig& config, const Augmentation& augmentation, uint64_t seed) {
  return {.patch = config.image.patch,
          .stride = config.image.step(),
          .class_token = config.image.class_token,
          .augmentation = augmentation,
          .seed = seed};
}

}  // namespace sixfold
