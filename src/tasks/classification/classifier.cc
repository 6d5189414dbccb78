#include "tasks/classification/classifier.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/class_dataset.h"
#include "data/lines.h"
#include "runtime/model_runtime.h"
#include "runtime/poll.h"
#include "runtime/source_batches.h"
#include "tasks/classification/settings.h"
#include "tasks/kit/image_values.h"
#include "text/utf8.h"

namespace sixfold {

namespace {

/// Returns the encoder input of a text, and sets `error` and the numbers of tokens in the result.
std::vector<int32_t> encode(const ModelRuntime& model, const std::string& text, Classification& result) {
  if (!has_visible_character(text)) {
    result.error = "the text is empty";
    return {};
  }
  result.error = fault_of_text(text);
  if (result.error) return {};
  const Tokenizer& tokenizer = model.source();
  const std::vector<int32_t> ids = tokenizer.encode(text);
  const int64_t limit = model.config().context_tokens, max_tokens = limit > 0 ? limit : std::ssize(ids);
  result.tokens_cut = static_cast<size_t>(std::max<int64_t>(std::ssize(ids) - max_tokens, 0));
  return classifier_input(ids, max_tokens, tokenizer.bos(), tokenizer.eos());
}

/// The same for an image: the values of its patches.
std::vector<int32_t> encode(const ModelRuntime& model, const Image& image, Classification& result) {
  ImageValues values = image_values(image, model.config().image);
  result.error = std::move(values.error);
  return std::move(values.ids);
}

void classify_batch(const DecodeWorkspace& workspace, const Batch& batch, std::span<const std::string> labels,
                    std::span<Classification> results) {
  Context context(workspace.backend, workspace.arena);
  const auto all = class_probabilities(workspace.model, batch, context);
  for (size_t i = 0; i < all.size(); ++i) {
    Classification& result = results[static_cast<size_t>(batch.samples[i])];
    if (!std::ranges::all_of(all[i], [](double probability) { return std::isfinite(probability); })) {
      result.error = "the probabilities that the model computes are not finite; its weights must be damaged";
      continue;
    }
    const size_t best = likeliest(all[i]);
    result.label = labels[best];
    result.probability = all[i][best];
    result.probabilities = all[i];
  }
}

template <class Item>
std::vector<Classification> classify_all(ModelRuntime& model, std::span<const std::string> labels,
                                         std::span<const Item> items, const ClassifyOptions& options) {
  std::vector<Classification> results(items.size());
  SourceBatches packed(model.batch_tokens(), model.config().source_ids_per_row());
  for (size_t i = 0; i < items.size(); ++i) {
    Poll::now(options.cancel);
    if (const std::vector<int32_t> ids = encode(model, items[i], results[i]); !ids.empty())
      packed.add(static_cast<int32_t>(i), ids);
  }
  const std::vector<Batch> batches = packed.take();
  model.run(batches.size(), options.cancel, [&](size_t i, const DecodeWorkspace& workspace) {
    classify_batch(workspace, batches[i], labels, results);
  });
  return results;
}

}  // namespace

Classifier::Classifier(std::shared_ptr<ModelRuntime> opened) : Predictor(std::move(opened)) {
  const bool images = config().task == ClassificationSettings::task_on_images;
  require_task(config(), images ? ClassificationSettings::network_on_images : ClassificationSettings::network,
               model().folder());
  labels_ = labels_of(config());
}

bool Classifier::reads_images() const { return config().reads_images(); }

std::vector<Classification> Classifier::classify(std::span<const std::string> texts,
                                                 const ClassifyOptions& options) const {
  require(!reads_images(), "the model classifies images, not texts");
  return classify_all(model(), labels_, texts, options);
}

std::vector<Classification> Classifier::classify_images(std::span<const Image> images,
                                                        const ClassifyOptions& options) const {
  require(reads_images(), "the model classifies texts, not images");
  // Overlapping patches take many times the memory of their images, so that only block images are cut at a
  // time.
  const int64_t rows = config().image.rows();
  const int64_t images_per_block =
      std::max<int64_t>(1, 4 * model().engine().threads() * model().batch_tokens() / rows);
  std::vector<Classification> results;
  for (size_t begin = 0; begin < images.size(); begin += static_cast<size_t>(images_per_block)) {
    const auto block =
        images.subspan(begin, std::min(images.size() - begin, static_cast<size_t>(images_per_block)));
    std::ranges::move(classify_all(model(), labels_, block, options), std::back_inserter(results));
  }
  return results;
}

}  // namespace sixfold
