#include "tasks/kit/validation_samples.h"

#include <algorithm>

#include "model/attention_weights.h"
#include "text/language_tokens.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

/// The maximum number of tokens of each side of the attention, including the end token.
constexpr size_t max_attention_tokens = 24;

/// The text, or its beginning, cut after a whole character, and "…".
std::string shortened(std::string_view text) {
  if (text.size() <= most_sample_bytes) return std::string(text);
  size_t end = most_sample_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::vector<std::string> texts_of(const Tokenizer& tokenizer, const Ids& ids) {
  std::vector<std::string> texts;
  for (const int32_t id : ids) texts.push_back(tokenizer.token_text(id));
  return texts;
}

/// The mean over heads of weights, [heads, target, source].
std::vector<float> mean_of_heads(const std::vector<float>& weights, int heads) {
  std::vector<float> mean(weights.size() / static_cast<size_t>(heads));
  for (size_t i = 0; i < weights.size(); ++i) mean[i % mean.size()] += weights[i] / static_cast<float>(heads);
  return mean;
}

}  // namespace

std::vector<size_t> sample_pairs(std::span<const std::string> sources, std::span<const std::string> targets) {
  std::vector<size_t> found;
  for (size_t i = 0; i < sources.size() && found.size() < most_samples; ++i)
    if (std::max(sources[i].size(), targets[i].size()) <= most_sample_bytes) found.push_back(i);
  return found;
}

ValidationSample sample_of(std::string input, std::string_view output, std::string reference) {
  return {.input = std::move(input), .output = shortened(output), .reference = std::move(reference)};
}

void add_cross_attention(const Transformer& model, const Tokenizers& tokenizers, const PairLayout& layout,
                         std::span<ValidationSample> samples, const std::shared_ptr<Arena>& arena) {
  const LanguageTokens languages(*tokenizers.source);
  for (ValidationSample& sample : samples) {
    const LanguageTokens::Parts parts = languages.split(sample.input);
    Ids text = tokenizers.source->encode(parts.text);
    if (!parts.token.empty()) text.insert(text.begin(), languages.id(parts.token));
    const Ids source = layout.source(text, tokenizers.source->eos());
    Ids target = layout.target(tokenizers.target->encode(sample.reference));
    target.push_back(tokenizers.target->eos());
    if (std::max(source.size(), target.size()) > max_attention_tokens) continue;
    const ModelConfig& config = model.config();
    const Batch batch = BatchBuilder()
                            .source(source)
                            .teacher_forced(std::span(target).first(target.size() - 1), config.target_ends())
                            .take();
    Context context(model.backend(), arena);
    SampleAttention& attention = sample.attention.emplace();
    attention.layer = config.alignment_layer();
    attention.source = texts_of(*tokenizers.source, source);
    attention.target = texts_of(*tokenizers.target, target);
    attention.weights =
        mean_of_heads(attention_weights(model, batch, AttentionKind::cross, attention.layer, context)[0],
                      config.of_decoder().heads);
    return;
  }
}

}  // namespace sixfold
