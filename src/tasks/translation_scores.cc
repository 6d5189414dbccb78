#include "tasks/translation_scores.h"

#include <algorithm>

#include "generate/beam.h"
#include "generate/search.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "model/decoding_state.h"

namespace sixfold {
namespace {

/// The number of source tokens that are translated at a time.
int64_t search_tokens(int64_t part_tokens) {
  const int64_t usual = SearchOptions{}.batch_tokens;
  return part_tokens > 0 ? std::min(usual, part_tokens) : usual;
}

/// The number of sentences that are translated.
int64_t translated(const TranslationValidationOptions& options, int64_t all) {
  return options.max_sentences > 0 ? std::min(all, options.max_sentences) : all;
}

/// Translates each line.
std::vector<std::string> translate(const Transformer& model, const Tokenizers& tokenizers,
                                   std::span<const std::string> lines, const SearchOptions& how,
                                   const std::shared_ptr<Arena>& arena) {
  std::vector<std::vector<int32_t>> sources;
  for (const std::string& line : lines) {
    sources.push_back(tokenizers.source->encode(line));
    sources.back().push_back(tokenizers.source->eos());
  }
  std::vector<std::string> translations(lines.size());
  DecodeWorkspace decoding(model);
  decoding.arena = arena;
  search(decoding, sources, how, [&](size_t i, std::vector<Hypothesis> found) {
    translations[i] = tokenizers.target->decode(found[0].ids);
  });
  return translations;
}

/// The bytes of a pool of keys and values that has held this many rows. Its capacity doubles when it is full,
/// one layer after the other.
int64_t pool_bytes(const ModelConfig& config, int64_t rows) {
  int64_t held = RowStore::fewest_rows;
  while (held < rows) held *= 2;
  const int64_t row =
      int64_t{config.heads} * (config.key_width() + config.value_width()) * int64_t{sizeof(float)};
  return row * (held * config.decoder_layers + held / 2);
}

}  // namespace

Scores translation_scores(const Transformer& model, const Tokenizers& tokenizers, const ParallelText& text,
                          const TranslationValidationOptions& options, int64_t part_tokens,
                          const std::shared_ptr<Arena>& arena) {
  if (!options.translates()) return {};
  const auto count = static_cast<size_t>(translated(options, text.size()));
  SearchOptions how{.rules = model.config().generation, .batch_tokens = search_tokens(part_tokens)};
  how.rules.beam_size = options.beam_size;
  const auto lines = translate(model, tokenizers, std::span(text.source).first(count), how, arena);
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
  const int64_t budget = search_tokens(part_tokens) / options.beam_size;
  const int64_t sentences = translated(options, corpus.size());
  int64_t source = 0, target = 0, most_source = 0, most_target = 0;
  for (int64_t i = 0; i < sentences; ++i) {
    const auto tokens = std::ssize(corpus.source[i]);
    if (source + tokens > budget) source = target = 0;
    source += tokens;
    target += options.beam_size * longest_output(config.generation, static_cast<int>(tokens));
    most_source = std::max(most_source, source);
    most_target = std::max(most_target, target);
  }
  return pool_bytes(config, most_source) + pool_bytes(config, most_target);
}

}  // namespace sixfold
