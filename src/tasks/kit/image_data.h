#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "data/stored_images.h"
#include "model/config.h"
#include "model/layers/patch_embedding.h"
#include "train/config.h"
#include "train/task.h"

// Functions and options shared by the tasks on images.

namespace sixfold {

/// How an image is cut into patches: the group `image` of a config. The size of the images is that of the data.
struct PatchOptions : ImageInput {};

inline void visit(OptionVisitor& v, PatchOptions& o) { visit_patches(v, o); }

/// Pairs of files, and the options of batching. A task derives its group `data` from this.
struct ImageFilesOptions : BatchOptions {
  std::vector<std::string> train, valid;
  Augmentation augmentation;
};

/// Visits the files. `texts`: what belongs to the images, in the description of `train`.
inline void visit_image_files(OptionVisitor& v, ImageFilesOptions& o, std::string_view texts) {
  v.field("train", o.train,
          "training data, files of images and of " + std::string(texts) +
              "; images are an IDX file or a list of PNG, JPEG, PPM or PGM files; each may be gzipped");
  v.field("valid", o.valid, "validation data, given in the same way; empty: no validation");
}

/// Visits augmentation and batches. `caution`: when not to mirror images, in the description of `flip`.
inline void visit_image_batches(OptionVisitor& v, ImageFilesOptions& o, std::string_view caution = {}) {
  v.field("flip", o.augmentation.flip,
          "mirror training images from left to right at random" + std::string(caution));
  v.field("shift", o.augmentation.shift, "shift training images at random by up to this many pixels",
          between(0, 1 << 12));
  v.field("cut_out", o.augmentation.cut_out,
          "fill a random square of this many pixels on a side in training images with grey; 0: none",
          between(0, 1 << 12));
  visit(v, static_cast<BatchOptions&>(o));
}

/// Throws an input error that names the key unless the files come in pairs. `texts`: as above, such as
/// "labels".
void check_pairs(const ImageFilesOptions& data, std::string_view texts);

/// Describes what determines the encoded images besides the contents of the given files, for
/// `TextRequest::settings`.
std::string settings_of_images(const TaskStart& start, const ImageFilesOptions& data);

/// Returns the patches of images of a size, and checks the augmentation. Throws an input error that names the
/// key if patches do not cover the images, or if a random change may leave nothing of one.
ImageInput image_input(const PatchOptions& patches, const Augmentation& augmentation, const ImageSize& size);

/// Sets the input of the model: patches of images of the size that the run's encoded data has. Throws an input
/// error that names the key if patches do not cover the images, and one that begins with the folder if the
/// model to start from has another input.
void set_image_input(ModelConfig& config, const PatchOptions& patches, const Augmentation& augmentation,
                     const TaskStart& start);

/// The images that a model reads, in words: "images of 28 x 28 with 1 channel".
std::string describe_images(const ModelConfig& config);

/// How the images of a model are cut into patches after random changes.
PatchCutter cutter_of(const ModelConfig& config, const Augmentation& augmentation, uint64_t seed);

}  // namespace sixfold
