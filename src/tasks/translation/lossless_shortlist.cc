#include "tasks/translation/lossless_shortlist.h"

#include <algorithm>

#include "base/log.h"
#include "data/lexicon.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// Numbers of the likeliest target tokens of a source token, and of the most frequent ones.
struct Size {
  int best, common;
};
constexpr Size sizes[] = {{50, 100}, {200, 500}, {500, 1500}};
static_assert(std::size(sizes) + 1 == shortlist_measurements);

struct Quality {
  double bleu = 0, chrf = 0;
};

/// Lists of a larger share of the tokens save too little time.
constexpr double largest_share = 0.5;

/// Pairs that are spread evenly over a corpus.
TokenCorpus some_pairs(const TokenCorpus& corpus) {
  constexpr int64_t most = 1'000'000;
  const int64_t count = std::min(corpus.size(), most);
  TokenCorpus some{.source = {}, .target = {}, .target_eos = corpus.target_eos};
  for (int64_t i = 0; i < count; ++i) {
    const auto pair = static_cast<int64_t>(static_cast<__int128>(i) * corpus.size() / count);
    some.source.add(corpus.source[pair]);
    some.target.add(corpus.target[pair]);
  }
  return some;
}

}  // namespace

std::optional<Shortlist> lossless_shortlist(const DecodeWorkspace& decoding, const Tokenizer& target,
                                            const TokenCorpus& train, const ReferencedText& text,
                                            SearchOptions options, const std::atomic<int>* stop) {
  const std::vector<MeasuredLine> lines = measured_lines(text);
  if (lines.size() < min_measured_lines) {
    log_info("the model has no shortlist: choosing it needs {} lines of validation text; found {}",
             min_measured_lines, lines.size());
    return {};
  }
  const Bleu bleu;
  const Chrf chrf;
  const auto quality = [&](const Shortlist* shortlist) {
    options.shortlist = shortlist;
    const std::vector<Hypothesis> outputs = translations_of(decoding, lines, options, stop);
    MetricSums bleu_sums(bleu), chrf_sums(chrf);
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string output = replace_invalid_utf8(target.decode(outputs[i].ids)),
                        reference = text.reference(lines[i].number);
      bleu_sums.add(output, {&reference, 1});
      chrf_sums.add(output, {&reference, 1});
    }
    return Quality{bleu_sums.score(), chrf_sums.score()};
  };
  const ModelConfig& config = decoding.model.config();
  const TokenCorpus pairs = some_pairs(train);
  const Quality all = quality(nullptr);
  for (const Size& size : sizes) {
    throw_if_stopped(stop);
    Shortlist shortlist(frequent_targets(pairs, config.target_vocab, size.common),
                        learn_lexicon(pairs, config.source_vocab, config.target_vocab, size.best));
    int64_t allowed = 0;
    for (const MeasuredLine& line : lines) allowed += std::ssize(shortlist.targets(line.source));
    allowed /= std::ssize(lines);
    if (static_cast<double>(allowed) > largest_share * config.target_vocab) break;
    const Quality some = quality(&shortlist);
    const bool loses = some.bleu < all.bleu || some.chrf < all.chrf;
    log_info(
        "shortlist: {} of {} tokens for a line of validation text; BLEU {:.1f} instead of {:.1f}, chrF {:.1f} "
        "instead of {:.1f}: {}",
        allowed, config.target_vocab, some.bleu, all.bleu, some.chrf, all.chrf,
        loses ? "not kept" : "kept with the model");
    if (!loses) return shortlist;
  }
  log_info("the model has no shortlist: none of less than half of the tokens loses nothing");
  return {};
}

}  // namespace sixfold
