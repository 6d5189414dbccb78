#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tasks/kit/image_data.h"
#include "tasks/kit/task_options.h"
#include "tasks/kit/validation_metrics.h"

namespace sixfold {

/// Images with captions, and the options of batching.
struct CaptionDataOptions : ImageFilesOptions {};

inline void visit(OptionVisitor& v, CaptionDataOptions& o) {
  visit_image_files(v, o, "captions alternately: captions are the lines of a text");
  visit_image_batches(v, o, "; not if captions say left or right");
}

struct CaptionValidationOptions : TextValidationOptions {
  CaptionValidationOptions(MetricTable table = metric_table())
      : TextValidationOptions({"exact_match", "bleu"}, {"loss", "perplexity", "exact_match"}, table) {}

  int64_t max_images = 0;
};

inline void visit(OptionVisitor& v, CaptionValidationOptions& o) {
  visit_text_validation(v, o, "captions of the model");
  v.field("max_images", o.max_images, "caption only this many images, from the first; 0: all", at_least(0));
}

/// The complete config of a run that trains a model to caption images.
struct ImageCaptioningOptions : TaskOptions<CaptionDataOptions, CaptionValidationOptions> {
  static constexpr std::string_view task_name = "image_captioning";
  static constexpr TaskNetwork network{.task = task_name, .images = true};
  std::string task = std::string(task_name);
  PatchOptions image;

  ImageCaptioningOptions();
};

inline void visit(OptionVisitor& v, ImageCaptioningOptions& o) {
  v.field("task", o.task, "what is trained: image_captioning; without this key, translation");
  v.group("image", o.image, "how images become rows of the encoder");
  visit(v, static_cast<TaskOptions<CaptionDataOptions, CaptionValidationOptions>&>(o));
}

/// Reads the options, and sets those that are the same for all captioning models. Throws an input error that
/// begins with the place of the key if a key does not apply to such models, or as `validate`.
ImageCaptioningOptions image_captioning_options_of(OptionNode root, const std::string& where);

/// Throws an input error that names the key if a value is out of range, there is no training data, no limit
/// ends the training, or options contradict each other.
void validate(const ImageCaptioningOptions& options);

/// Returns warnings about settings that have no effect together with others, one sentence each.
std::vector<std::string> advice_for(const ImageCaptioningOptions& options);

}  // namespace sixfold
