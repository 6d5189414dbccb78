#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model_runtime.h"
#include "runtime/search.h"
#include "tasks/translation/extra_outputs.h"
#include "text/tokenizers.h"

// How good a translation may be. The features of a translation are computed here alone, for fitting,
// translating, scoring and serving. They depend on the model, the source and the translation, and on nothing
// else: neither on the search, nor on a shortlist, nor on other lines.

namespace sixfold {

/// The number of features.
inline constexpr size_t confidence_features = 12;

/// The weights of the features, after a constant, that config.json has; none if `wanted` has no confidence.
/// Throws an input error if it has and the weights have not been fitted, or belong to the features of another
/// version.
std::vector<double> confidence_weights(const ModelRuntime& open, const ExtraOutputs& wanted);

/// The confidence of each pair. `forced`: as in `PairContext`. The model processes all pairs in one batch.
std::vector<LineConfidence> confidences(const DecodeWorkspace& decoding, const Tokenizer& source,
                                        const Tokenizer& target, std::span<const ScoredPair> pairs,
                                        size_t forced, std::span<const double> weights);

/// The mean by numbers of tokens; nothing if there is none.
std::optional<LineConfidence> mean_confidence(std::span<const std::optional<LineConfidence>> parts);

/// The fields of an answer in JSON, by name; null, which is nothing here, for what the model did not translate.
std::vector<std::pair<const char*, std::optional<double>>> confidence_fields(
    const std::optional<LineConfidence>& confidence);

/// A text with references.
struct ReferencedText {
  size_t lines = 0;
  std::function<std::vector<int32_t>(size_t line)> source;  ///< as the encoder reads it, not empty
  std::function<std::string(size_t line)> reference;
};

/// Fits the weights to a text: translates lines of it by a search, and predicts the chrF of each line, divided
/// by 100, by ridge regression in fp64. The result depends on model, search and text alone. Takes at most 1,000
/// lines and 30,000 tokens of sources, spread over the text. Returns no weights, and logs why, if there are
/// fewer than 200 lines, or if all translations are equally likely or equally good. The model must be packed.
/// When `stop` becomes nonzero, `Cancelled` is thrown.
std::vector<double> fit_confidence(const DecodeWorkspace& decoding, const Tokenizers& tokenizers,
                                   const ReferencedText& text, SearchOptions how,
                                   const std::atomic<int>* stop = nullptr);

/// About how many tokens training processes in the time that this takes; 0 if nothing would be fitted.
int64_t fit_tokens(const ReferencedText& text, int beam_size);

}  // namespace sixfold
