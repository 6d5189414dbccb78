#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/classification/config.h"
#include "tasks/kit/image_data.h"
#include "tasks/kit/size_choice.h"

namespace sixfold {

/// Labelled images, and the options of batching.
struct ImageDataOptions : ImageFilesOptions {
  std::vector<std::string> test;
  std::vector<std::string> label_names;
  std::vector<std::string> class_weights;
};

inline void visit(OptionVisitor& v, ImageDataOptions& o) {
  visit_image_files(v, o, "labels alternately: labels are an IDX file or lines");
  v.field("test", o.test,
          "test data, given in the same way, which is only compared with the others by sixfold check");
  v.field("label_names", o.label_names,
          "names of the labels 0, 1, ... of an IDX file; empty: their numbers are their names");
  v.field("class_weights", o.class_weights,
          "factors of the losses: 'balanced' makes all labels count equally; or LABEL=FACTOR for some labels; "
          "empty: 1");
  visit_image_batches(v, o);
}

/// The complete config of a run that trains a classifier of images. There is no tokenizer and no generation.
struct ImageClassificationOptions : TaskOptions<ImageDataOptions, ClassificationValidationOptions> {
  static constexpr std::string_view task_name = ClassificationSettings::task_on_images;
  /// The sizes of a run whose config gives none.
  static std::span<const SizeChoice> sizes();
  std::string task = std::string(task_name);
  PatchOptions image;
  ClassifierOptions classifier;

  ImageClassificationOptions();
};

inline void visit(OptionVisitor& v, ImageClassificationOptions& o) {
  v.field("task", o.task, "what is trained: image_classification; without this key, translation");
  v.group("image", o.image, "how images become rows of the encoder");
  v.group("classifier", o.classifier, "the layer that predicts the label");
  v.group("model", o.model, "the architecture");
  visit_training_groups(v, o);
}

/// Reads the options, and sets those that are the same for all image classifiers. Throws an input error that
/// begins with the place of the key if a key does not apply to image classifiers, or as `validate`.
ImageClassificationOptions image_classification_options_of(OptionNode root, const std::string& where);

/// Throws an input error that names the key if a value is out of range, there is no training data, no limit
/// ends the training, or options contradict each other.
void validate(const ImageClassificationOptions& options);

/// Returns warnings about settings that have no effect together with others, one sentence each.
std::vector<std::string> advice_for(const ImageClassificationOptions& options);

}  // namespace sixfold
