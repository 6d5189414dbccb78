#include "tasks/translation_scores.h"

#include <algorithm>

#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "tasks/decoding_scores.h"

namespace sixfold {
namespace {

/// The number of sentences that are translated.
int64_t translated(const TranslationValidationOptions& options, int64_t all) {
  return options.max_sentences > 0 ? std::min(all, options.max_sentences) : all;
}

/// Translates each line.
std::vector<std::string> translate(const Transformer& model, const Tokenizers& tokenizers,
                                   std::span<const std::string> lines, const ScoredDecoding& how,
                                   const std::shared_ptr<Arena>& arena) {
  std::vector<std::vector<int32_t>> sources;
  for (const std::string& line : lines) {
    sources.push_back(tokenizers.source->encode(line));
    sources.back().push_back(tokenizers.source->eos());
  }
  std::vector<std::string> translations;
  for (const auto& ids : decode_outputs(model, sources, how, arena))
    translations.push_back(tokenizers.target->decode(ids));
  return translations;
}

}  // namespace

Scores translation_scores(const Transformer& model, const Tokenizers& tokenizers, const ParallelText& text,
                          const TranslationValidationOptions& options, int64_t part_tokens,
                          const std::shared_ptr<Arena>& arena) {
  if (!options.translates()) return {};
  const auto count = static_cast<size_t>(translated(options, text.size()));
  const auto lines = translate(model, tokenizers, std::span(text.source).first(count),
                               {.beam_size = options.beam_size, .part_tokens = part_tokens}, arena);
  // Text for a whitespace tokenizer is tokenized already.
  const bool tokenized = tokenizers.target->kind() == TokenizerKind::whitespace;
  const Bleu bleu({.tokenizer = tokenized ? BleuTokenizer::none : BleuTokenizer::v13a});
  const Chrf chrf;
  BleuStatistics bleu_sum;
  ChrfStatistics chrf_sum;
  for (size_t i = 0; i < count; ++i) {
    const std::string reference = tokenizers.target->join(text.target[i]);
    bleu_sum += bleu.statistics(lines[i], {&reference, 1});
    chrf_sum += chrf.statistics(lines[i], {&reference, 1});
  }
  return {{"bleu", {bleu.score(bleu_sum).score, true}}, {"chrf", {chrf.score(chrf_sum), true}}};
}

int64_t translation_score_bytes(const ModelConfig& config, const TokenCorpus& corpus,
                                const TranslationValidationOptions& options, int64_t part_tokens) {
  if (!options.translates()) return 0;
  return decoding_bytes(config, translated(options, corpus.size()),
                        [&](int64_t i) { return std::ssize(corpus.source[i]); },
                        {.beam_size = options.beam_size, .part_tokens = part_tokens});
}

}  // namespace sixfold
