#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model_runtime.h"
#include "tasks/translation/translation.h"

namespace sixfold {

/// A source and a hypothesis for it. Both must outlive the pair.
struct ScoredPair {
  std::span<const int32_t> source;  ///< with the tokens around it; empty for a line without visible characters
  const Hypothesis& output;
  std::string_view text = {};  ///< of the source, without a language token; alignments count its words

  /// Whether the end token follows the output.
  bool ends() const { return output.reason != FinishReason::cut; }
};

/// What the pairs of one call have in common.
struct PairContext {
  /// Number of tokens at the start of each source, such as a language token, and at its end, which belong to
  /// no word.
  size_t prefix = 0, suffix = 1;
  size_t forced = 0;  ///< number of tokens at the start of each output that are forced; their probability is 1
  /// The tokens over which output distributions are normalized, in ascending order; empty: all.
  std::span<const int32_t> allowed = {};
  /// Whether unknown tokens count as words of the translations, since `replace_unknown_words` replaces them.
  bool shows_unknown = false;
  std::span<const double> confidence = {};  ///< `confidence_weights` of the model, if confidence is asked for
};

/// The pairs as a batch for teacher forcing. An empty source is represented by the end token; the end token
/// follows each output that ends with it.
Batch batch_of(std::span<const ScoredPair> pairs, const ModelConfig& config);

/// Adds the extra outputs of `pairs[i]` to `translations[i]`. The model processes all pairs in one batch.
void add_extra_outputs(const ModelRuntime& runtime, const DecodeWorkspace& decoding,
                       std::span<const ScoredPair> pairs, const ExtraOutputs& extra, const PairContext& common,
                       std::span<Translation> translations);

/// The texts of tokens; that of the start token that is an embedding of zeros is "(start)".
std::vector<std::string> token_texts(const Tokenizer& tokenizer, std::span<const int32_t> ids);

/// Throws an input error if there are more tokens than `extra` allows for the attention of all layers and for
/// the steps of the search. `what`: "sentence" or "translation".
void require_observable(const ExtraOutputs& extra, size_t tokens, const char* what);

/// The cross-attention of a decoder layer for each pair: [heads, target tokens, source tokens], where the end
/// token counts if the output has one. `layer`: as `ExtraOutputs::layer`. The model processes all pairs in one
/// batch.
std::vector<std::vector<float>> cross_attention(const ModelRuntime& runtime, const DecodeWorkspace& decoding,
                                                std::span<const ScoredPair> pairs, std::optional<int> layer);

}  // namespace sixfold
