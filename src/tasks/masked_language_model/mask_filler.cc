#include "tasks/masked_language_model/mask_filler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/threads.h"
#include "data/class_dataset.h"
#include "data/lines.h"
#include "runtime/engine.h"
#include "runtime/loaded_model.h"
#include "runtime/source_batches.h"
#include "text/masked_text.h"

namespace sixfold {

struct MaskFiller::Parts {
  /// A text, and what the model says of it.
  struct Work {
    std::vector<TextMask> masks;
    std::vector<int32_t> best;  // the likeliest token of each mask
    bool finite = true;
  };

  LoadedModel open;
  Engine engine;
  MaskedTextCoder coder;
  std::vector<int32_t> banned;  // the ids that no mask is filled with

  Parts(const std::string& folder, int threads, WeightType type)
      : open(folder, type),
        engine(threads, [this] { return open.workspace(); }),
        coder(require_masks(open, folder).source()) {
    const Tokenizer& tokenizer = open.source();
    banned = {tokenizer.unk(), tokenizer.eos()};
    if (tokenizer.bos() >= 0) banned.push_back(tokenizer.bos());
    require(std::cmp_greater(tokenizer.vocab_size(), banned.size()),
            "{}: the vocabulary has no token that a mask could be filled with", folder);
  }

  /// Other models may have no tokenizer of a source.
  static const LoadedModel& require_masks(const LoadedModel& model, const std::string& folder) {
    require_masked_language_model(model.config(), folder);
    return model;
  }

  /// Encodes a text, or sets why it can't be filled.
  MaskedText encode(const std::string& text, FilledText& result) const {
    result.error = fault_of_text(text);
    if (result.error) return {};
    MaskedText encoded = coder.encode(text);
    const auto most = static_cast<size_t>(open.config().context_tokens);
    if (encoded.masks.empty())
      result.error = fmt::format("the text has no {}", mask_mark);
    else if (encoded.masks.back().token >= most)
      result.error = fmt::format("a {} is beyond the {} tokens that the model reads", mask_mark, most);
    if (encoded.ids.size() > most) {
      result.tokens_cut = encoded.ids.size() - most;
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

  void predict(const Batch& batch, int candidates, std::span<Work> works, std::span<FilledText> results) {
    const auto workspace = open.borrow();
    Context context(workspace->backend, workspace->arena);
    const int k = std::min(candidates, open.source().vocab_size() - static_cast<int>(banned.size()));
    const ops::Candidates found = ops::top_k(context, open.model().head_input(batch, context),
                                             open.model().output(), k, context.indices(banned));
    std::map<int32_t, std::string> texts;  // of the candidates
    const auto text_of = [&](int32_t id) {
      const auto [text, added] = texts.try_emplace(id);
      if (added) text->second = coder.text_of(id);
      return text->second;
    };
    size_t at = 0;
    for (const int32_t sample : batch.samples) {
      Work& work = works[static_cast<size_t>(sample)];
      for (size_t mask = 0; mask < work.masks.size(); ++mask, at += static_cast<size_t>(k)) {
        work.best.push_back(found.ids[at]);
        std::vector<MaskCandidate>& all = results[static_cast<size_t>(sample)].masks.emplace_back();
        for (size_t i = at; i < at + static_cast<size_t>(k); ++i) {
          all.push_back({text_of(found.ids[i]), std::exp(found.log_probs[i])});
          work.finite &= std::isfinite(all.back().probability);
        }
      }
    }
  }

  std::vector<FilledText> fill(std::span<const std::string> texts, const FillOptions& options) {
    require(options.candidates >= 1, "candidates is {}; it must be at least 1", options.candidates);
    std::vector<FilledText> results(texts.size());
    std::vector<Work> works(texts.size());
    SourceBatches packed(open.batch_tokens(), 1);
    for (size_t i = 0; i < texts.size(); ++i) try {
        const MaskedText encoded = encode(texts[i], results[i]);
        if (results[i].error) continue;
        add(encoded, i, packed);
        works[i].masks = encoded.masks;
      } catch (const Error& error) {
        results[i].error = error.what();
      }
    const std::vector<Batch> batches = packed.take();
    engine.run(std::ssize(batches), [&](int64_t i) {
      if (options.cancel.stop_requested()) throw Cancelled();
      predict(batches[static_cast<size_t>(i)], options.candidates, works, results);
    });
    for (size_t i = 0; i < texts.size(); ++i)
      if (!results[i].error) finish(texts[i], works[i], results[i]);
    return results;
  }

  /// Puts the likeliest tokens into a text.
  void finish(const std::string& text, const Work& work, FilledText& result) const {
    if (work.finite)
      result.text = coder.fill(text, work.masks, work.best);
    else
      result = {.error =
                    "the probabilities that the model computes are not finite; its weights must be damaged"};
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
