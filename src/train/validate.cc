#include "train/validate.h"

#include <algorithm>
#include <cmath>

#include "data/batcher.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "search/search.h"

namespace sixfold {
namespace {

double mean_loss(const Transformer& model, const TokenCorpus& corpus, int64_t batch_tokens,
                 const std::shared_ptr<Arena>& arena) {
  Batcher batcher(
      corpus,
      {.batch_tokens = batch_tokens, .shuffle = false, .decoder_start = model.config().decoder_start_token});
  double loss = 0;
  while (batcher.position().epoch == 0) {
    const Batch batch = batcher.next();
    Context context(model.backend(), arena);
    loss += model.loss(batch, {}, context);
  }
  return loss / static_cast<double>(corpus.target_tokens());
}

/// The first `count` sources, translated.
std::vector<std::string> translate(const Transformer& model, const Tokenizers& tokenizers,
                                   const ValidationText& valid, const ValidationOptions& options, size_t count,
                                   int64_t search_tokens, const std::shared_ptr<Arena>& arena) {
  std::vector<std::vector<int32_t>> sources;
  for (size_t i = 0; i < count; ++i) {
    sources.push_back(tokenizers.source->encode(valid.text.source[i]));
    sources.back().push_back(tokenizers.source->eos());
  }
  SearchOptions how{.rules = model.config().generation, .batch_tokens = search_tokens};
  how.rules.beam_size = options.beam_size;
  std::vector<std::string> lines(count);
  DecodeWorkspace decoding(model);
  decoding.arena = arena;
  search(decoding, sources, how,
         [&](size_t i, std::vector<Hypothesis> found) { lines[i] = tokenizers.target->decode(found[0].ids); });
  return lines;
}

bool wants(const ValidationOptions& options, Metric metric) {
  return options.best_by == metric || std::count(options.metrics.begin(), options.metrics.end(), metric) > 0;
}

}  // namespace

Scores validate_model(Transformer& model, const Tokenizers& tokenizers, const ValidationText& valid,
                      const ValidationOptions& options, int64_t batch_tokens, int64_t part_tokens,
                      const std::shared_ptr<Arena>& arena) {
  Scores scores;
  model.pack();
  scores["loss"] = mean_loss(model, valid.tokens, validation_batch_tokens(batch_tokens, part_tokens), arena);
  scores["perplexity"] = std::exp(scores["loss"]);
  if (translates(options)) {
    const size_t all = valid.text.source.size();
    const size_t count =
        options.max_sentences > 0 ? std::min(all, static_cast<size_t>(options.max_sentences)) : all;
    const auto lines =
        translate(model, tokenizers, valid, options, count, validation_search_tokens(part_tokens), arena);
    // Text that came segmented is tokenized already.
    const bool tokenized = tokenizers.target->kind() == TokenizerKind::whitespace;
    const Bleu bleu({.tokenizer = tokenized ? BleuTokenizer::none : BleuTokenizer::v13a});
    const Chrf chrf;
    BleuStatistics bleu_sum;
    ChrfStatistics chrf_sum;
    for (size_t i = 0; i < count; ++i) {
      const std::string reference = tokenizers.target->join(valid.text.target[i]);
      bleu_sum += bleu.statistics(lines[i], {&reference, 1});
      chrf_sum += chrf.statistics(lines[i], {&reference, 1});
    }
    scores["bleu"] = bleu.score(bleu_sum).score;
    scores["chrf"] = chrf.score(chrf_sum);
  }
  model.discard_packed();
  return scores;
}

int64_t validation_batch_tokens(int64_t batch_tokens, int64_t part_tokens) {
  return part_tokens > 0 ? std::min(batch_tokens, part_tokens) : batch_tokens;
}

int64_t validation_search_tokens(int64_t part_tokens) {
  const int64_t usual = SearchOptions{}.batch_tokens;
  return part_tokens > 0 ? std::min(usual, part_tokens) : usual;
}

bool translates(const ValidationOptions& options) {
  return wants(options, Metric::bleu) || wants(options, Metric::chrf);
}

bool is_better(Metric metric, double value, double than) {
  if (!std::isfinite(value)) return false;
  return metric == Metric::loss || metric == Metric::perplexity ? value < than : value > than;
}

}  // namespace sixfold
