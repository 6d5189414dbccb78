#include "tasks/masked_language_model/mask_filler.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/options.h"
#include "data/class_dataset.h"
#include "data/lines.h"
#include "runtime/model_runtime.h"
#include "runtime/poll.h"
#include "runtime/source_batches.h"
#include "tasks/masked_language_model/config.h"
#include "text/masked_text.h"

namespace sixfold {

void visit(OptionVisitor& v, FillOptions& o) {
  v.field("candidates", o.candidates, "number of tokens for each mask", between(1, 1000));
}

namespace {

/// The masks of a text and the predictions of the model for them.
struct TextState {
  std::vector<TextMask> masks;
  std::vector<int32_t> best;  // the likeliest token of each mask
  bool finite = true;
};

/// The ids of tokens that never fill a mask.
std::vector<int32_t> banned_ids(const Tokenizer& tokenizer, int32_t mask) {
  std::vector<int32_t> banned{tokenizer.unk(), tokenizer.eos()};
  if (mask != tokenizer.unk()) banned.push_back(mask);
  if (tokenizer.bos() >= 0) banned.push_back(tokenizer.bos());
  return banned;
}

/// The token that stands for a mask.
int32_t mask_of(ModelRuntime& model) {
  const Tokenizer& tokenizer = model.source();
  const int32_t mask = settings_of<MaskedLanguageModelSettings>(model.config()).mask(tokenizer.unk());
  require(mask < tokenizer.vocab_size(), "{}: mask_token {} is not in the vocabulary of {} tokens",
          model.folder(), mask, tokenizer.vocab_size());
  return mask;
}

/// The filling of the masks of one call.
class FillJob {
 public:
  explicit FillJob(ModelRuntime& model)
      : model_(model),
        mask_(mask_of(model)),
        coder_(model.source(), mask_ == model.source().unk() ? -1 : mask_),
        banned_(banned_ids(model.source(), mask_)) {}

  std::vector<FilledText> fill(std::span<const std::string> texts, const FillOptions& options) {
    check_ranges(options);
    std::vector<FilledText> results(texts.size());
    std::vector<TextState> states(texts.size());
    SourceBatches packed(model_.batch_tokens(), 1);
    for (size_t i = 0; i < texts.size(); ++i) try {
        Poll::now(options.cancel);
        const MaskedText encoded = encode(texts[i], results[i]);
        if (results[i].error) continue;
        add(encoded, i, packed);
        states[i].masks = encoded.masks;
      } catch (const Cancelled&) {
        throw;
      } catch (const Error& error) {
        results[i].error = error.what();
      }
    const std::vector<Batch> batches = packed.take();
    model_.run(batches.size(), options.cancel, [&](size_t i, const DecodeWorkspace& workspace) {
      predict(workspace, batches[i], options.candidates, states, results);
    });
    for (size_t i = 0; i < texts.size(); ++i)
      if (!results[i].error) finish(texts[i], states[i], results[i]);
    return results;
  }

 private:
  /// Encodes a text, or sets the reason why it can't be filled.
  MaskedText encode(const std::string& text, FilledText& result) const {
    result.error = fault_of_text(text);
    if (result.error) return {};
    MaskedText encoded = coder_.encode(text);
    const auto max_tokens = static_cast<size_t>(model_.config().context_tokens);
    if (encoded.masks.empty())
      result.error = fmt::format("the text has no {}", mask_mark);
    else if (encoded.masks.back().token >= max_tokens)
      result.error = fmt::format("a {} is beyond the {} tokens that the model reads", mask_mark, max_tokens);
    if (encoded.ids.size() > max_tokens) {
      result.tokens_cut = encoded.ids.size() - max_tokens;
      encoded.ids.resize(max_tokens);
    }
    return encoded;
  }

  void add(const MaskedText& text, size_t i, SourceBatches& packed) const {
    const Tokenizer& tokenizer = model_.source();
    const int32_t bos = tokenizer.bos(), first = bos >= 0 ? 1 : 0;
    std::vector<int32_t> positions, unknown(text.masks.size(), tokenizer.unk());
    for (const TextMask& mask : text.masks) positions.push_back(static_cast<int32_t>(mask.token) + first);
    packed.add(static_cast<int32_t>(i), classifier_input(text.ids, std::ssize(text.ids), bos, tokenizer.eos()))
        .label_tokens(positions, unknown);
  }

  void predict(const DecodeWorkspace& workspace, const Batch& batch, int candidates,
               std::span<TextState> states, std::span<FilledText> results) const {
    Context context(workspace.backend, workspace.arena);
    const int k = std::min(candidates, model_.source().vocab_size() - static_cast<int>(banned_.size()));
    const ops::Candidates found = ops::top_k(context, model_.model().head_input(batch, context),
                                             model_.model().output(), k, context.indices(banned_));
    std::map<int32_t, std::string> texts;  // of the candidates
    const auto text_of = [&](int32_t id) {
      const auto [text, added] = texts.try_emplace(id);
      if (added) text->second = coder_.text_of(id);
      return text->second;
    };
    size_t at = 0;
    for (const int32_t sample : batch.samples) {
      TextState& state = states[static_cast<size_t>(sample)];
      for (size_t mask = 0; mask < state.masks.size(); ++mask, at += static_cast<size_t>(k)) {
        state.best.push_back(found.ids[at]);
        std::vector<MaskCandidate>& all = results[static_cast<size_t>(sample)].masks.emplace_back();
        for (size_t i = at; i < at + static_cast<size_t>(k); ++i) {
          all.push_back({text_of(found.ids[i]), std::exp(found.log_probs[i])});
          state.finite &= std::isfinite(all.back().probability);
        }
      }
    }
  }

  /// Puts the likeliest tokens into a text.
  void finish(const std::string& text, const TextState& state, FilledText& result) const {
    if (state.finite)
      result.text = coder_.fill(text, state.masks, state.best);
    else
      result = {.error =
                    "the probabilities that the model computes are not finite; its weights must be damaged"};
  }

  ModelRuntime& model_;
  int32_t mask_;
  MaskedTextCoder coder_;
  std::vector<int32_t> banned_;
};

}  // namespace

MaskFiller::MaskFiller(std::shared_ptr<ModelRuntime> opened) : Predictor(std::move(opened)) {
  require_task(config(), MaskedLanguageModelSettings::network, model().folder());
  const Tokenizer& tokenizer = model().source();
  require(std::cmp_greater(tokenizer.vocab_size(), banned_ids(tokenizer, mask_of(model())).size()),
          "{}: the vocabulary has no token that a mask could be filled with", model().folder());
}

std::vector<FilledText> MaskFiller::fill(std::span<const std::string> texts, const FillOptions& options) const {
  return FillJob(model()).fill(texts, options);
}

}  // namespace sixfold
