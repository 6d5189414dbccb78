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

/// A source and a hypothesis for it. Both outlive the pair.
struct ScoredPair {
  std::span<const int32_t> source;  ///< with the tokens around it; empty for a line without visible characters
  const Hypothesis& output;
  std::string_view text = {};  ///< of the source, without a language token; its words are those of alignments

  /// Whether the end token follows the output.
  bool ends() const { return output.reason != FinishReason::cut; }
};

/// What the pairs of one call have in common.
struct PairContext {
  /// Number of tokens at the start of each source, such as a language token, and at its end, which belong to
  /// no word.
  size_t prefix = 0, suffix = 1;
  size_t forced = 0;  ///< number of tokens that each output begins with whatever their probability, which is 1
  /// The tokens among which the probability is divided, in ascending order; empty: all.
  std::span<const int32_t> allowed = {};
  /// Whether unknown tokens are words in the texts of the translations (`replace_unknown_words`).
  bool shows_unknown = false;
  std::span<const double> confidence = {};  ///< `confidence_weights` of the model, if confidence is asked for
};

/// The pairs as the model reads them: the end token in place of an empty source, and after an output if it has
/// one.
Batch batch_of(std::span<const ScoredPair> pairs, const ModelConfig& config);

/// Adds the extra outputs of `pairs[i]` to `translations[i]`. The model processes all pairs in one batch.
void add_extra_outputs(const ModelRuntime& open, const DecodeWorkspace& decoding,
                       std::span<const ScoredPair> pairs, const ExtraOutputs& extra, const PairContext& common,
                       std::span<Translation> translations);

/// The texts of tokens; that of the start token that is an embedding of zeros is "(start)".
std::vector<std::string> token_texts(const Tokenizer& tokenizer, std::span<const int32_t> ids);

/// Throws an input error if `extra` limits the number of tokens that are observed to fewer than there are.
/// `what`: "sentence" or "translation".
void require_observable(const ExtraOutputs& extra, size_t tokens, const char* what);

/// The cross-attention of a decoder layer for each pair: [heads, target tokens, source tokens], where the end
/// token counts if the output has one. `layer`: as `ExtraOutputs::layer`. The model processes all pairs in one
/// batch.
std::vector<std::vector<float>> cross_attention(const ModelRuntime& open, const DecodeWorkspace& decoding,
                                                std::span<const ScoredPair> pairs, std::optional<int> layer);

}  // namespace sixfold
