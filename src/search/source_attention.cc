#include "search/source_attention.h"

#include "base/error.h"

namespace sixfold {

SourceAttention::SourceAttention(std::span<const Query> queries) {
  for (const Query& query : queries)
    if (query.attention_layer >= 0) layers_[query.attention_layer];
}

bool SourceAttention::wants(AttentionKind kind, int layer) const {
  return kind == AttentionKind::cross && layers_.contains(layer);
}

void SourceAttention::observe_attention(AttentionKind, int layer, const ops::AttentionInputs& inputs,
                                        const ops::AttentionPattern& pattern, Context& context) {
  layers_[layer] = ops::attention_weights(context, inputs, pattern);
}

void SourceAttention::append_sums(std::span<const Extension> extensions, std::span<const Query> queries,
                                  std::span<const QueryPlace> places, const DecodingState& state,
                                  Backend& backend, std::vector<float>& sums) const {
  if (empty()) return;
  size_t tokens = 0;  // number of tokens of all extensions
  for (const Extension& extension : extensions) tokens += extension.tokens.size();
  if (tokens == 0) return;
  std::map<int, std::vector<float>> weights;
  for (const auto& [layer, tensor] : layers_) {
    require(static_cast<bool>(tensor), "the decoder has no layer {} that attends to the source", layer);
    weights[layer] = tensor.to_floats(backend);
  }
  for (size_t i = 0; i < queries.size(); ++i) {
    if (queries[i].attention_layer < 0) continue;
    const Extension& extension = extensions[places[i].extension];
    const size_t first = places[i].first_row, count = places[i].row + 1 - first;
    const std::vector<float>& all = weights.at(queries[i].attention_layer);
    const Tensor& of_layer = layers_.at(queries[i].attention_layer);
    const auto columns = static_cast<size_t>(of_layer.cols());
    const size_t heads = static_cast<size_t>(of_layer.rows()) / tokens, begin = sums.size();
    sums.resize(begin + sums_of(queries[i], extension, state));
    for (size_t s = begin; s < sums.size(); ++s) {
      double sum = 0;
      for (size_t head = 0; head < heads; ++head)
        for (size_t t = 0; t < count; ++t)
          sum += double{all[(head * tokens + first + t) * columns + s - begin]};
      sums[s] = static_cast<float>(sum / static_cast<double>(heads));
    }
  }
}

}  // namespace sixfold
