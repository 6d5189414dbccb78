#include "train/validate.h"

#include <algorithm>
#include <cmath>

#include "data/batcher.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "search/search.h"
#include "train/batch_loss.h"

namespace sixfold {
namespace {

double mean_loss(const Transformer& model, const TokenCorpus& corpus, int64_t batch_tokens) {
  const auto arena = std::make_shared<Arena>(model.backend());
  Batcher batcher(corpus, {.batch_tokens = batch_tokens, .shuffle = false});
  double loss = 0;
  while (batcher.position().epoch == 0) {
    const Batch batch = batcher.next();
    Pass pass(model.backend(), arena);
    loss += batch_loss(model, batch, {}, pass);
  }
  return loss / static_cast<double>(corpus.target_tokens());
}

/// The first `count` sources, translated.
std::vector<std::string> translate(const Transformer& model, const Tokenizers& tokenizers,
                                   const ValidationText& valid, const ValidationOptions& options,
                                   size_t count) {
  std::vector<std::vector<int32_t>> sources;
  for (size_t i = 0; i < count; ++i) {
    sources.push_back(tokenizers.source->encode(valid.text.source[i]));
    sources.back().push_back(tokenizers.source->eos());
  }
  SearchOptions how{.rules = model.config().search};
  how.rules.beam_size = options.beam_size;
  std::vector<std::string> lines(count);
  search(model, sources, how,
         [&](size_t i, std::vector<Hypothesis> found) { lines[i] = tokenizers.target->decode(found[0].ids); });
  return lines;
}

bool wants(const ValidationOptions& options, Metric metric) {
  return options.best_by == metric || std::count(options.metrics.begin(), options.metrics.end(), metric) > 0;
}

}  // namespace

Scores validate_model(const Transformer& model, const Tokenizers& tokenizers, const ValidationText& valid,
                      const ValidationOptions& options, int64_t batch_tokens) {
  Scores scores;
  model.prepare();
  scores["loss"] = mean_loss(model, valid.tokens, batch_tokens);
  scores["perplexity"] = std::exp(scores["loss"]);
  if (wants(options, Metric::bleu) || wants(options, Metric::chrf)) {
    const size_t all = valid.text.source.size();
    const size_t count =
        options.max_sentences > 0 ? std::min(all, static_cast<size_t>(options.max_sentences)) : all;
    const auto lines = translate(model, tokenizers, valid, options, count);
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
  model.forget_prepared();
  return scores;
}

bool is_better(Metric metric, double value, double than) {
  return metric == Metric::loss || metric == Metric::perplexity ? value < than : value > than;
}

}  // namespace sixfold
