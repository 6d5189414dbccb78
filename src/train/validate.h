#pragma once
#include <map>
#include <string>
#include <vector>

#include "data/corpus.h"
#include "data/token_corpus.h"
#include "model/transformer.h"
#include "text/tokenizers.h"
#include "train/config.h"

namespace sixfold {

/// The text that a run is measured on, as text and as ids.
struct ValidationText {
  ParallelText text;
  TokenCorpus tokens;
};

/// What one validation found, by name: "loss" (cross entropy of a target token, not smoothed), "perplexity",
/// "bleu", "chrf".
using Scores = std::map<std::string, double>;

/// Measures the model: loss over given targets, BLEU and chrF over translations by real decoding.
Scores validate_model(const Transformer& model, const Tokenizers& tokenizers, const ValidationText& valid,
                      const ValidationOptions& options, int64_t batch_tokens);

/// Whether a value of this metric is better than another: less loss, more BLEU.
bool is_better(Metric metric, double value, double than);

}  // namespace sixfold
