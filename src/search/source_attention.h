#pragma once
#include <map>
#include <span>
#include <vector>

#include "search/scorer.h"

namespace sixfold {

/// Keeps the attention to the sources in the layers that queries ask for, while extensions are decoded. For one
/// thread at a time.
class SourceAttention final : public AttentionObserver {
 public:
  explicit SourceAttention(std::span<const Query> queries);

  /// Whether no query asks for attention: then there is nothing to observe.
  bool empty() const { return layers_.empty(); }
  bool wants(AttentionKind kind, int layer) const override;
  void observe_attention(AttentionKind kind, int layer, const ops::AttentionInputs& inputs,
                         const ops::AttentionPattern& pattern, Context& context) override;
  /// The number of sums of a query: the tokens of its source, or 0 if it does not ask for attention.
  static size_t sums_of(const Query& query, const Extension& extension, const DecodingState& state) {
    return query.attention_layer >= 0 ? state.source_tokens(extension.request) : 0;
  }
  /// Appends `Answer::attention` of each query that asks for it. `places`: `places_of(extensions, queries)`;
  /// `state`: that which was extended. Throws an input error if the decoder has no such layer.
  void append_sums(std::span<const Extension> extensions, std::span<const Query> queries,
                   std::span<const QueryPlace> places, const DecodingState& state, Backend& backend,
                   std::vector<float>& sums) const;

 private:
  std::map<int, Tensor> layers_;  // by layer: [heads * tokens, longest source]
};

}  // namespace sixfold
