#include "infer/mask_filler.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/threads.h"
#include "data/class_dataset.h"
#include "data/lines.h"
#include "infer/engine.h"
#include "infer/loaded_model.h"
#include "infer/source_batches.h"
#include "text/masked_text.h"

namespace sixfold {

struct MaskFiller::Parts {
  LoadedModel open;
  Engine engine;

  Parts(const std::string& folder, int threads, WeightType type)
      : open(folder, type), engine(threads, [this] { return open.workspace(); }) {
    require_masked_language_model(open.config(), folder);
  }

  /// Encodes a text, or sets why it can't be filled.
  MaskedText encode(const std::string& text, FilledText& result) const {
    result.error = fault_of_text(text);
    if (result.error) return {};
    MaskedText encoded = encode_masked(open.source(), text);
    if (encoded.masks.empty()) {
      result.error = fmt::format("the text has no {}", mask_mark);
      return {};
    }
    const auto most = static_cast<size_t>(open.config().context_tokens);
    if (encoded.ids.size() > most) {
      result.tokens_cut = encoded.ids.size() - most;
      if (encoded.masks.back().token >= most)
        result.error = fmt::format("a {} is beyond the {} tokens that the model reads", mask_mark, most);
      encoded.ids.resize(most);
    }
    return encoded;
  }

  void add(const MaskedText& text, size_t i, SourceBatches& packed) const {
    const Tokenizer& tokenizer = open.source();
    const int32_t bos = tokenizer.bos(), first = bos >= 0 ? 1 : 0;
    std::vector<int32_t> places, unknown(text.masks.size(), tokenizer.unk());
    for (const TextMask& mask : text.masks) places.push_back(static_cast<int32_t>(mask.token) + first);
    packed.add(static_cast<int32_t>(i), classifier_input(text.ids, std::ssize(text.ids), bos, tokenizer.eos()))
        .label_tokens(places, unknown);
  }

  /// The ids that no mask is filled with.
  std::vector<int32_t> banned() const {
    const Tokenizer& tokenizer = open.source();
    std::vector<int32_t> ids{tokenizer.unk(), tokenizer.eos()};
    if (tokenizer.bos() >= 0) ids.push_back(tokenizer.bos());
    return ids;
  }

  void predict(const Batch& batch, int candidates, std::span<FilledText> results) {
    const auto workspace = open.borrow();
    Context context(workspace->backend, workspace->arena);
    const std::vector<int32_t> banned = this->banned();
    const int k = std::min(candidates, open.source().vocab_size() - static_cast<int>(banned.size()));
    const ops::Candidates found = ops::top_k(context, open.model().head_input(batch, context),
                                             open.model().output(), k, context.indices(banned));
    size_t at = 0;
    for (const int32_t sample : batch.samples)
      for (std::vector<MaskCandidate>& mask : results[static_cast<size_t>(sample)].masks)
        for (int i = 0; i < k; ++i, ++at)
          mask.push_back({text_within(open.source(), found.ids[at]), std::exp(found.log_probs[at])});
  }

  /// Puts the likeliest tokens into a text.
  static void finish(const std::string& text, std::span<const TextMask> places, FilledText& result) {
    const auto broken = [](const MaskCandidate& one) { return !std::isfinite(one.probability); };
    size_t done = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      std::vector<MaskCandidate>& candidates = result.masks[i];
      if (candidates.empty() || std::ranges::any_of(candidates, broken)) {
        result = {.error =
                      "the probabilities that the model computes are not finite; its weights must be damaged"};
        return;
      }
      if (places[i].begin == 0)
        for (MaskCandidate& one : candidates) one.text.erase(0, one.text.starts_with(' ') ? 1 : 0);
      result.text += text.substr(done, places[i].begin - done) + candidates.front().text;
      done = places[i].end;
    }
    result.text += text.substr(done);
  }

  std::vector<FilledText> fill(std::span<const std::string> texts, const FillOptions& options) {
    require(options.candidates >= 1, "candidates is {}; it must be at least 1", options.candidates);
    std::vector<FilledText> results(texts.size());
    std::vector<std::vector<TextMask>> places(texts.size());
    SourceBatches packed(open.batch_tokens(), 1);
    for (size_t i = 0; i < texts.size(); ++i) {
      const MaskedText encoded = encode(texts[i], results[i]);
      if (results[i].error) continue;
      add(encoded, i, packed);
      results[i].masks.resize(encoded.masks.size());
      places[i] = encoded.masks;
    }
    const std::vector<Batch> batches = packed.take();
    engine.run(std::ssize(batches), [&](int64_t i) {
      if (options.cancel.stop_requested()) throw Cancelled();
      predict(batches[static_cast<size_t>(i)], options.candidates, results);
    });
    for (size_t i = 0; i < texts.size(); ++i)
      if (!results[i].error) finish(texts[i], places[i], results[i]);
    return results;
  }
};

MaskFiller::MaskFiller(const std::string& model_folder, int threads, WeightType type) {
  require(threads >= 0, "threads is {}; it must be at least 0 (0: all processor cores)", threads);
  parts_ = std::make_unique<Parts>(model_folder, threads == 0 ? available_threads() : threads, type);
}

MaskFiller::~MaskFiller() = default;
MaskFiller::MaskFiller(MaskFiller&&) noexcept = default;

std::vector<FilledText> MaskFiller::fill(std::span<const std::string> texts, const FillOptions& options) const {
  return parts_->fill(texts, options);
}

}  // namespace sixfold
