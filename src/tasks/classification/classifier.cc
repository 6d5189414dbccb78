#include "tasks/classification/classifier.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/threads.h"
#include "data/class_dataset.h"
#include "runtime/engine.h"
#include "runtime/loaded_model.h"
#include "runtime/source_batches.h"
#include "tasks/kit/image_values.h"
#include "text/utf8.h"

namespace sixfold {

struct Classifier::Parts {
  LoadedModel open;
  Engine engine;

  Parts(const std::string& folder, int threads, WeightType type)
      : open(folder, type), engine(threads, [this] { return open.workspace(); }) {
    require_classifier(open.config(), folder);
  }

  /// Returns what the encoder reads of a text, and sets what is known of it without the model.
  std::vector<int32_t> encode(const std::string& text, Classification& result) const {
    if (!has_visible_character(text)) {
      result.error = "the text is empty";
      return {};
    }
    const Tokenizer& tokenizer = open.source();
    const std::vector<int32_t> ids = tokenizer.encode(text);
    const int64_t limit = open.config().context_tokens, most = limit > 0 ? limit : std::ssize(ids);
    result.tokens_cut = static_cast<size_t>(std::max<int64_t>(std::ssize(ids) - most, 0));
    return classifier_input(ids, most, tokenizer.bos(), tokenizer.eos());
  }

  /// The same of an image: the values of its patches.
  std::vector<int32_t> encode(const Image& image, Classification& result) const {
    ImageValues values = image_values(image, open.config().image);
    result.error = std::move(values.error);
    return std::move(values.ids);
  }

  template <class Item>
  std::vector<Classification> classify_all(std::span<const Item> items, const ClassifyOptions& options) {
    std::vector<Classification> results(items.size());
    SourceBatches packed(open.batch_tokens(), open.config().source_ids_per_row());
    for (size_t i = 0; i < items.size(); ++i)
      if (const std::vector<int32_t> ids = encode(items[i], results[i]); !ids.empty())
        packed.add(static_cast<int32_t>(i), ids);
    const std::vector<Batch> batches = packed.take();
    engine.run(std::ssize(batches), [&](int64_t i) {
      if (options.cancel.stop_requested()) throw Cancelled();
      classify(batches[static_cast<size_t>(i)], results);
    });
    return results;
  }

  void classify(const Batch& batch, std::span<Classification> results) {
    const auto workspace = open.borrow();
    Context context(workspace->backend, workspace->arena);
    const auto all = class_probabilities(open.model(), batch, context);
    for (size_t i = 0; i < all.size(); ++i) {
      Classification& result = results[static_cast<size_t>(batch.samples[i])];
      if (!std::ranges::all_of(all[i], [](double probability) { return std::isfinite(probability); })) {
        result.error = "the probabilities that the model computes are not finite; its weights must be damaged";
        continue;
      }
      const size_t best = likeliest(all[i]);
      result.label = open.config().labels[best];
      result.probability = all[i][best];
      result.probabilities = all[i];
    }
  }
};

Classifier::Classifier(const std::string& model_folder, int threads, WeightType type) {
  require(threads >= 0, "threads is {}; it must be at least 0 (0: all processor cores)", threads);
  parts_ = std::make_unique<Parts>(model_folder, threads == 0 ? available_threads() : threads, type);
}

Classifier::~Classifier() = default;
Classifier::Classifier(Classifier&&) noexcept = default;

const std::vector<std::string>& Classifier::labels() const { return parts_->open.config().labels; }

bool Classifier::reads_images() const { return parts_->open.config().reads_images(); }

std::vector<Classification> Classifier::classify(std::span<const std::string> texts,
                                                 const ClassifyOptions& options) const {
  require(!reads_images(), "the model classifies images, not texts");
  return parts_->classify_all(texts, options);
}

std::vector<Classification> Classifier::classify_images(std::span<const Image> images,
                                                        const ClassifyOptions& options) const {
  require(reads_images(), "the model classifies texts, not images");
  // Patches that overlap take many times the memory of their images, so that these are cut some at a time.
  const int64_t patches = parts_->open.config().image.patches();
  const int64_t at_once =
      std::max<int64_t>(1, 4 * parts_->engine.threads() * parts_->open.batch_tokens() / patches);
  std::vector<Classification> results;
  for (size_t begin = 0; begin < images.size(); begin += static_cast<size_t>(at_once)) {
    const auto some = images.subspan(begin, std::min(images.size() - begin, static_cast<size_t>(at_once)));
    std::ranges::move(parts_->classify_all(some, options), std::back_inserter(results));
  }
  return results;
}

}  // namespace sixfold
