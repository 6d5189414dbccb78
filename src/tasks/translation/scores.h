#pragma once
#include "data/corpus.h"
#include "data/token_corpus.h"
#include "model/transformer.h"
#include "tasks/translation/config.h"
#include "text/tokenizers.h"
#include "train/task.h"

namespace sixfold {

/// Pairs as text and as ids.
struct ValidationPairs {
  const ParallelText& text;
  const TokenCorpus& ids;
  const PairLayout& layout;  ///< the tokens around the texts in `ids`
  bool several = false;  ///< several texts, of which each has its share of the sentences that are translated
};

/// Collective. Translates the validation text, or `max_sentences` of its sentences, the first ones or
/// evenly spread over several texts, and returns "bleu" and
/// "chrf" and some of the translations as samples. If no metric needs translations, only the samples are
/// translated, and there are no scores. The model must be packed.
Evaluation evaluate_translation(const Transformer& model, const Tokenizers& tokenizers,
                                const ValidationPairs& pairs, const TranslationValidationOptions& options,
                                const EvaluationRun& run);

/// Returns an estimate, in bytes, of the keys and values of the sentences that are translated at a time. It
/// assumes translations of maximum length.
int64_t translation_score_bytes(const ModelConfig& config, const TokenCorpus& corpus,
                                const TranslationValidationOptions& options, int64_t part_tokens);

}  // namespace sixfold
