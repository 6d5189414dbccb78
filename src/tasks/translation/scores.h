#pragma once
#include "data/corpus.h"
#include "data/token_corpus.h"
#include "model/transformer.h"
#include "tasks/translation/config.h"
#include "text/tokenizers.h"
#include "train/task.h"

namespace sixfold {

/// Validation pairs as text and as token ids.
struct ValidationPairs {
  const ParallelText& text;
  const TokenCorpus& ids;
  const PairLayout& layout;  ///< the tokens around the texts in `ids`
  bool spread = false;  ///< translate sentences spread evenly over the text, which consists of several texts
};

/// Collective. Translates the validation text, or `max_sentences` of its sentences: the first ones, or evenly
/// spread ones (`ValidationPairs::spread`). Returns the scores of the metrics, such as "bleu" and "chrf", and
/// some of the translations as samples. If no metric needs translations, only the samples are translated, and
/// there are no scores. The model must be packed.
Evaluation evaluate_translation(const Transformer& model, const Tokenizers& tokenizers,
                                const ValidationPairs& pairs, const TranslationValidationOptions& options,
                                const EvaluationRun& run);

/// Returns an estimate, in bytes, of the key-value cache of the sentences that are translated at the same time.
/// It assumes translations of maximum length.
int64_t translation_score_bytes(const ModelConfig& config, const TokenCorpus& corpus,
                                const TranslationValidationOptions& options, int64_t part_tokens);

}  // namespace sixfold
