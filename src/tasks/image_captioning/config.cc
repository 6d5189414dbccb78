#include "tasks/image_captioning/config.h"

#include <algorithm>

#include "base/error.h"

namespace sixfold {
namespace {

/// The name of this kind of model in messages.
constexpr std::string_view model_name = "a model of captions";

}  // namespace

ImageCaptioningOptions::ImageCaptioningOptions() {
  model.positions = Positions::learned;
  model.tied_embeddings = TiedEmbeddings::decoder;
  tokenizer.normalization = Normalization::identity;
  generation.length_factor = 0;  // the number of patches says nothing about the length of a caption
}

ImageCaptioningOptions image_captioning_options_of(OptionNode root, const std::string& where) {
  ImageCaptioningOptions options;
  refuse_second_tokenizer(root, fmt::format("{} has one tokenizer, that of the captions", model_name),
                          options.tokenizer);
  const bool sets_positions = root.find_path("model.positions") != nullptr;
  const bool sets_tying = root.find_path("model.tied_embeddings") != nullptr;
  read_options(root, options);
  const ImageCaptioningOptions defaults;  // they differ from those of a preset
  if (!sets_positions) options.model.positions = defaults.model.positions;
  if (!sets_tying) options.model.tied_embeddings = defaults.model.tied_embeddings;
  normalize_alike(options.tokenizer);
  validate_at(options, where);
  return options;
}

void validate(const ImageCaptioningOptions& o) {
  validate_groups(o, "a file of images and a file of their captions");
  require(o.model.has_encoder() && o.model.has_decoder(),
          "model.{0}_layers is 0; {1} needs an encoder of images and a decoder",
          o.model.has_encoder() ? "decoder" : "encoder", model_name);
  require(!o.model.shares_embedding(),
          "model.tied_embeddings: '{}' ties the embedding of the source, but images have no tokens; choose "
          "decoder or none",
          name_of_enum(o.model.tied_embeddings));
  require(std::ranges::count(o.start.freeze, ModelPart::head) == 0,
          "start.freeze: {} has no head of its own; its output belongs to the embeddings", model_name);
  require(
      o.tokenizer.joint && o.tokenizer.target.empty(),
      "tokenizer: {} has one tokenizer, that of the captions; leave out tokenizer.joint and tokenizer.target",
      model_name);
  check_pairs(o.data, "captions");
  check_batch_norm(o.model, o.data);
  validate_metrics(o.validation);
}

std::vector<std::string> advice_for(const ImageCaptioningOptions& o) {
  const ImageCaptioningOptions defaults;
  return advice_on_model(model_groups(o), model_groups(defaults), o);
}

}  // namespace sixfold
