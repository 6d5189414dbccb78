#include "tasks/image_captioning/captioner.h"

#include <algorithm>

#include "base/error.h"
#include "base/options.h"
#include "model/attention_weights.h"
#include "runtime/model_runtime.h"
#include "runtime/request_group.h"
#include "runtime/search.h"
#include "tasks/image_captioning/config.h"
#include "tasks/kit/image_values.h"
#include "text/utf8.h"

namespace sixfold {

void visit(OptionVisitor& v, CaptionOptions& o) { visit_search_fields(v, o.beam_size, o.batch_tokens); }

namespace {

SearchOptions caption_search_options(const ModelRuntime& model, const CaptionOptions& options) {
  check_ranges(options);
  if (options.generation) check_normalization(*options.generation, model.config().generation);
  SearchOptions result{.rules = options.generation.value_or(model.config().generation)};
  if (options.beam_size) result.rules.beam_size = *options.beam_size;
  result.batch_tokens = model.batch_tokens(options.batch_tokens, result.rules.beam_size);
  return result;
}

/// The search of the captions of one call.
class CaptionJob final : public RequestGroup {
 public:
  CaptionJob(ModelRuntime& model, std::span<const Image> images, const CaptionOptions& options)
      : RequestGroup(model.engine()),
        model_(model),
        images_(images),
        cancel_(options.cancel),
        requests_(model.config(), caption_search_options(model, options)),
        captions_(images.size()),
        best_(images.size()) {}

  void run() {
    RequestGroup::run(cancel_, [this] {
      for (size_t i = 0; i < images_.size() && !stopped(); ++i) {
        ImageValues values = image_values(images_[i], model_.config().image);
        captions_[i].error = std::move(values.error);
        if (!captions_[i].error) queue(requests_.make(std::move(values.ids), *this, i), i);
      }
    });
  }
  std::vector<Caption>& captions() { return captions_; }
  const Hypothesis& best(size_t index) const { return best_[index]; }

 private:
  void complete(size_t index, const DecodeWorkspace&, std::vector<Hypothesis> best_first) override {
    Hypothesis& best = best_[index] = std::move(best_first[0]);
    Caption& caption = captions_[index];
    caption.text = replace_invalid_utf8(model_.target().decode(best.ids));
    caption.score = best.score;
    caption.log_probability = best.log_probability;
    caption.reason = best.reason;
  }

  const ModelRuntime& model_;
  std::span<const Image> images_;
  std::stop_token cancel_;
  SearchRequests requests_;
  std::vector<Caption> captions_;
  std::vector<Hypothesis> best_;  // by image
};

/// Attention weights without those of the class token, which is the first of the `rows` encoder outputs.
std::vector<float> without_class_token(const std::vector<float>& weights, int rows) {
  std::vector<float> patches;
  for (size_t i = 0; i < weights.size(); ++i)
    if (i % static_cast<size_t>(rows) != 0) patches.push_back(weights[i]);
  return patches;
}

}  // namespace

Captioner::Captioner(std::shared_ptr<ModelRuntime> opened) : Predictor(std::move(opened)) {
  require_task(config(), ImageCaptioningOptions::network, model().folder());
}

ImageSize Captioner::size() const {
  const ImageInput& input = config().image;
  return {input.height, input.width, input.channels};
}

int Captioner::decoder_layers() const { return config().decoder_layers; }

std::vector<Caption> Captioner::caption(std::span<const Image> images, const CaptionOptions& options) const {
  CaptionJob job(model(), images, options);
  job.run();
  return std::move(job.captions());
}

ImageAttention Captioner::attention(const Image& image, int layer, const CaptionOptions& options) const {
  ImageAttention result;
  result.layer = model().decoder_layer(layer);
  CaptionJob job(model(), {&image, 1}, options);
  job.run();
  const Caption& caption = job.captions()[0];
  require(!caption.error, "{}", caption.error.value_or(""));
  const Hypothesis& best = job.best(0);
  const ImageInput& input = config().image;
  BatchBuilder builder;
  builder.source(image_values(image, input).ids, config().source_ids_per_row());
  if (best.reason == FinishReason::cut)
    builder.teacher_forced_prefix(best.ids, config().decoder_start_token);
  else
    builder.teacher_forced(best.ids, config().target_ends());
  const Batch batch = builder.take();
  const auto workspace = model().borrow();
  Context context(workspace->backend, workspace->arena);
  result.weights = attention_weights(workspace->model, batch, AttentionKind::cross, result.layer, context)[0];
  if (input.class_token) result.weights = without_class_token(result.weights, input.rows());
  result.caption = caption.text;
  for (const int32_t id : batch.labels) result.tokens.push_back(model().target().token_text(id));
  result.heads = config().of_decoder().heads;
  result.patch = input.patch, result.stride = input.step();
  result.rows = (input.height - input.patch) / input.step() + 1;
  result.columns = (input.width - input.patch) / input.step() + 1;
  return result;
}

}  // namespace sixfold
