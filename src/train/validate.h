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

/// Measures the model: loss over given targets, BLEU and chrF over translations by real decoding. It works in
/// parts of `part_tokens` (0: in batches of `batch_tokens`), in the memory of `arena`.
Scores validate_model(Transformer& model, const Tokenizers& tokenizers, const ValidationText& valid,
                      const ValidationOptions& options, int64_t batch_tokens, int64_t part_tokens,
                      const std::shared_ptr<Arena>& arena);

/// Tokens of a batch of it, and of the sources that are translated at a time.
int64_t validation_batch_tokens(int64_t batch_tokens, int64_t part_tokens);
int64_t validation_search_tokens(int64_t part_tokens);
/// Whether a metric asks for translations.
bool translates(const ValidationOptions& options);

/// Whether a value of this metric is better than another: less loss, more BLEU. One that is not finite is never
/// better.
bool is_better(Metric metric, double value, double than);

}  // namespace sixfold
