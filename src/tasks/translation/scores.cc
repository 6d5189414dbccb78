#include "tasks/translation/scores.h"

#include <algorithm>
#include <numeric>

#include "tasks/kit/decoding_scores.h"
#include "tasks/kit/validation_samples.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// The number of sentences from which the samples are chosen. All of them are translated if a metric needs it.
int64_t candidate_count(const TranslationValidationOptions& options, int64_t all) {
  return options.max_sentences > 0 ? std::min(all, options.max_sentences) : all;
}

/// Translates lines of the text.
std::vector<std::string> translate(const Transformer& model, const Tokenizer& target,
                                   const ValidationPairs& pairs, std::span<const size_t> lines,
                                   const ScoredDecoding& decoding, const EvaluationRun& run,
                                   OutputFacts& facts) {
  std::vector<std::vector<int32_t>> sources;
  std::vector<std::string> references;
  for (const size_t line : lines) {
    const auto ids = pairs.ids.source[static_cast<int64_t>(line)];
    sources.emplace_back(ids.begin(), ids.end());
    references.push_back(pairs.text.target[line]);
  }
  std::vector<std::string> translations;
  for (const auto& ids : decode_outputs(model, sources, references, decoding, run, facts))
    translations.push_back(replace_invalid_utf8(target.decode(ids)));
  return translations;
}

}  // namespace

Evaluation evaluate_translation(const Transformer& model, const Tokenizers& tokenizers,
                                const ValidationPairs& pairs, const TranslationValidationOptions& options,
                                const EvaluationRun& run) {
  const ParallelText& text = pairs.text;
  const size_t all = text.source.size(), count = static_cast<size_t>(candidate_count(options, text.size()));
  std::vector<size_t> chosen(count);
  for (size_t i = 0; i < count; ++i) chosen[i] = pairs.spread ? i * all / count : i;
  std::vector<std::string> sources, targets;
  for (const size_t line : chosen) sources.push_back(text.source[line]), targets.push_back(text.target[line]);
  const std::vector<size_t> samples = sample_pairs(sources, targets);  // indices into `chosen`
  std::vector<size_t> lines;
  if (options.generates())
    lines = chosen;
  else
    for (const size_t i : samples) lines.push_back(chosen[i]);
  Evaluation evaluation;
  const auto translations =
      translate(model, *tokenizers.target, pairs, lines,
                {.beam_size = options.beam_size, .part_tokens = run.part_tokens}, run, evaluation.outputs);
  if (options.generates()) {
    ValidationScores scores = options.scores(*tokenizers.target);
    for (size_t i = 0; i < translations.size(); ++i) {
      const std::string reference = tokenizers.target->join(targets[i]);
      scores.add(translations[i], {&reference, 1}, true, &sources[i]);
    }
    evaluation.scores = scores.scores(run.processes);
  }
  for (size_t i = 0; i < samples.size(); ++i)
    evaluation.samples.push_back(sample_of(
        sources[samples[i]], translations[options.generates() ? samples[i] : i], targets[samples[i]]));
  add_cross_attention(model, tokenizers, pairs.layout, evaluation.samples, run.arena);
  return evaluation;
}

int64_t translation_score_bytes(const ModelConfig& config, const TokenCorpus& corpus,
                                const TranslationValidationOptions& options, int64_t part_tokens) {
  const ScoredDecoding decoding{.beam_size = options.beam_size, .part_tokens = part_tokens};
  const int64_t count = candidate_count(options, corpus.size());
  if (options.generates())
    return decoding_bytes(
        config, count, [&](int64_t i) { return std::ssize(corpus.source[i]); }, decoding);
  int64_t longest = 0;
  for (int64_t i = 0; i < count; ++i) longest = std::max(longest, std::ssize(corpus.source[i]));
  const auto sample_count = std::min(count, static_cast<int64_t>(most_samples));
  const auto tokens = [&](int64_t) { return std::min(longest, static_cast<int64_t>(most_sample_bytes) + 1); };
  return decoding_bytes(config, sample_count, tokens, decoding);
}

}  // namespace sixfold
