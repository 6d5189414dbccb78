#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tasks/kit/image_data.h"
#include "tasks/kit/task_options.h"

namespace sixfold {

/// A metric that validation of captions can compute.
enum class CaptionMetric { loss, perplexity, exact_match, bleu };

template <>
struct EnumNames<CaptionMetric> {
  static constexpr std::pair<CaptionMetric, std::string_view> names[] = {
      {CaptionMetric::loss, "loss"},
      {CaptionMetric::perplexity, "perplexity"},
      {CaptionMetric::exact_match, "exact_match"},
      {CaptionMetric::bleu, "bleu"}};
};

/// Images with captions, and how they become batches.
struct CaptionDataOptions : ImageFilesOptions {};

inline void visit(OptionVisitor& v, CaptionDataOptions& o) {
  visit_image_files(v, o, "captions by turns: captions are the lines of a text");
  visit_image_batches(v, o, "; not if captions say left or right");
}

struct CaptionValidationOptions : ValidationOptions {
  std::vector<CaptionMetric> metrics = {CaptionMetric::loss, CaptionMetric::perplexity,
                                        CaptionMetric::exact_match};
  CaptionMetric best_by = CaptionMetric::loss;
  int beam_size = 1;
  int64_t max_images = 0;

  /// Whether a metric needs captions of the model.
  bool captions() const;
};

inline void visit(OptionVisitor& v, CaptionValidationOptions& o) {
  visit_interval(v, o);
  v.field("metrics", o.metrics,
          "metrics to compute: loss, perplexity, exact_match (percent of captions that equal the reference), "
          "bleu; exact_match and bleu need captions of the model");
  v.field("best_by", o.best_by, "metric that decides which model is best");
  visit_patience(v, o);
  v.field("beam_size", o.beam_size, "beam size for exact_match and bleu; 1: greedy search", between(1, 1000));
  v.field("max_images", o.max_images, "caption only this many images, from the first; 0: all", at_least(0));
}

/// The complete config of a run that trains a model to caption images.
struct ImageCaptioningOptions : TaskOptions<CaptionDataOptions, CaptionValidationOptions> {
  static constexpr std::string_view task_name = "image_captioning";
  std::string task = std::string(task_name);
  PatchOptions image;

  ImageCaptioningOptions();
};

inline void visit(OptionVisitor& v, ImageCaptioningOptions& o) {
  v.field("task", o.task, "what is trained: image_captioning; without this key, translation");
  v.group("image", o.image, "how images become rows of the encoder");
  visit(v, static_cast<TaskOptions<CaptionDataOptions, CaptionValidationOptions>&>(o));
}

inline std::string best_metric(const CaptionValidationOptions& o) {
  return std::string(name_of_enum(o.best_by));
}

/// Reads the options, and sets those that a model of captions does not choose. Throws an input error that
/// begins with the place of the key if a key is not one of such a model, or as `validate`.
ImageCaptioningOptions image_captioning_options_of(OptionNode root, const std::string& where);

/// Throws an input error that names the key if a value is out of range, there is no training data, no limit
/// ends the training, or options contradict each other.
void validate(const ImageCaptioningOptions& options);

/// Returns warnings about settings that have no effect together with others, one sentence each.
std::vector<std::string> advice_for(const ImageCaptioningOptions& options);

}  // namespace sixfold
