#pragma once
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model_runtime.h"
#include "runtime/search.h"
#include "tasks/translation/extra_outputs.h"
#include "tasks/translation/measured_lines.h"
#include "text/tokenizers.h"

// Confidence: an estimate of the quality of a translation, by a linear model over features of the translation.
// Fitting, translating, scoring and serving all use the features that are computed here. The features depend on
// the model, the source and the translation only, and not on the search, a shortlist or other lines.

namespace sixfold {

/// The number of features.
inline constexpr size_t confidence_features = 12;

/// The weights in config.json: a constant, then one weight for each feature. Empty if `extra` does not request
/// confidence. Otherwise throws an input error if the weights have not been fitted, or belong to the features
/// of another version, or if there is an ensemble.
std::vector<double> confidence_weights(const ModelRuntime& runtime, const ExtraOutputs& extra);

/// The confidence of each pair. `forced`: as in `PairContext`. The model processes all pairs in one batch.
std::vector<LineConfidence> confidences(const DecodeWorkspace& decoding, const Tokenizer& source,
                                        const Tokenizer& target, std::span<const ScoredPair> pairs,
                                        size_t forced, std::span<const double> weights);

/// The mean, weighted by the numbers of tokens; nothing if no part has a confidence.
std::optional<LineConfidence> mean_confidence(std::span<const std::optional<LineConfidence>> parts);

/// The names and values of the fields in JSON output. The values are empty, which is null in JSON, for a line
/// that the model did not translate.
std::vector<std::pair<const char*, std::optional<double>>> confidence_fields(
    const std::optional<LineConfidence>& confidence);

/// Fits the weights to a text: translates lines of it by a search, and fits the chrF of each line, divided by
/// 100, by ridge regression in fp64. The result depends only on the model, the search options and the text.
/// Uses the text's `measured_lines`. Returns no weights, and logs the reason, if these are too few, or if all
/// translations are equally likely or equally good. The model must be packed. When `stop` becomes nonzero,
/// `Cancelled` is thrown.
std::vector<double> fit_confidence(const DecodeWorkspace& decoding, const Tokenizers& tokenizers,
                                   const ReferencedText& text, SearchOptions options,
                                   const std::atomic<int>* stop = nullptr);

}  // namespace sixfold
