#include "tasks/image_classification/config.h"

#include <filesystem>

#include "base/error.h"
#include "data/image_reader.h"
#include "tasks/kit/encoder_task.h"

namespace sixfold {

ImageClassificationOptions::ImageClassificationOptions() {
  set_encoder_defaults(model);
  model.positions = Positions::learned;
  train.label_smoothing = 0;
  classifier.pooling = Pooling::mean;
}

ImageClassificationOptions image_classification_options_of(OptionNode root, const std::string& where) {
  refuse_keys_of_a_decoder(root, "a classifier");
  refuse_key(root, "model.max_positions", std::to_string(Architecture().max_positions),
             "follows from the size of the images");
  const bool sets_positions = root.find_path("model.positions") != nullptr;
  ImageClassificationOptions options;
  read_options(root, options);
  options.model.decoder_layers = 0;  // a preset has a decoder
  if (!sets_positions) options.model.positions = ImageClassificationOptions().model.positions;
  validate_at(options, where);
  return options;
}

std::span<const SizeChoice> ImageClassificationOptions::sizes() {
  static const std::vector<SizeChoice> rows{
      {0,
       0,
       {"model.d_model=128 model.heads=4 model.d_ff=512 model.encoder_layers=6", pre_norm,
        "model.activation=tanh_gelu", "model.dropout=0.1", "image.patch=8 image.stride=5",
        "data.batch_tokens=3200 data.micro_batch_tokens=1600", "data.shift=1", "train.clip_norm=1",
        "optimizer.kind?=adam optimizer.beta2=0.99", "optimizer.kind?=adam optimizer.weight_decay=0.05",
        "optimizer.kind?=adam schedule.kind=cosine schedule.learning_rate=2e-3"}}};
  return rows;
}

void validate(const ImageClassificationOptions& o) {
  require_encoder_only(o.model, "a classifier");
  check_frozen_parts(o.start, "a classifier");
  validate_groups(o, "a file of images and a file of their labels");
  check_pairs(o.data, "labels");
  require(o.classifier.pooling != Pooling::first || o.image.class_token,
          "classifier.pooling: is 'first', but images have no first token; choose mean or attention, or set "
          "image.class_token");
}

/// Whether any file of labels is an IDX file.
static bool has_idx_labels(const std::vector<std::string>& files) {
  std::error_code missing;  // which training reports
  for (size_t i = 1; i < files.size(); i += 2)
    if (!std::filesystem::exists(files[i], missing) || is_idx_file(files[i])) return true;
  return false;
}

std::vector<std::string> advice_for(const ImageClassificationOptions& o) {
  const ImageClassificationOptions defaults;
  std::vector<std::string> advice = advice_on_model(model_groups(o), model_groups(defaults), o);
  advise_on_classifier(o.classifier, o.start.model, advice);
  if (!o.data.label_names.empty() && !has_idx_labels(o.data.train) && !has_idx_labels(o.data.valid))
    advice.emplace_back("data.label_names has no effect, since no file of labels is an IDX file of numbers");
  return advice;
}

}  // namespace sixfold
