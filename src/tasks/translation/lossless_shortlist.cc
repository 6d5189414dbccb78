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
constexpr int64_t most_links = 8'000'000;

struct Quality {
  double bleu = 0, chrf = 0;
};

/// Lists of a larger share of the tokens save too little time.
constexpr double largest_share = 0.5;

/// The number of pairs of a source and a target token that learning looks at, on average for a pair of texts.
int64_t links_of_pair(const TokenCorpus& corpus) {
  const int64_t pairs = std::max<int64_t>(corpus.size(), 1);
  return std::max<int64_t>((corpus.source_tokens() / pairs) * (corpus.target_tokens() / pairs), 1);
}

/// Pairs that are spread evenly over a corpus, as many as learning reads.
TokenCorpus some_pairs(const TokenCorpus& corpus) {
  const int64_t count = most_links / links_of_pair(corpus) + 1;
  if (count >= corpus.size()) return corpus;
  TokenCorpus some{.source = {}, .target = {}, .target_eos = corpus.target_eos};
  for (int64_t i = 0; i < count; ++i) {
    const auto pair = static_cast<int64_t>(static_cast<__int128>(i) * corpus.size() / count);
    some.source.add(corpus.source[pair]);
    some.target.add(corpus.target[pair]);
  }
  return some;
}

/// The first `count` ids of each list.
std::vector<std::vector<int32_t>> beginnings(std::vector<std::vector<int32_t>> lists, int count) {
  for (auto& list : lists) list.resize(std::min(list.size(), static_cast<size_t>(count)));
  return lists;
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
  const auto lexicon = learn_lexicon(pairs, config.source_vocab, config.target_vocab, std::rbegin(sizes)->best,
                                     /*iterations=*/5, stop);
  const Quality all = quality(nullptr);
  if (all.chrf == 0) {
    log_info("the model has no shortlist: its translations have nothing in common with the references");
    return {};
  }
  for (const Size& size : sizes) {
    Shortlist shortlist(frequent_targets(pairs, config.target_vocab, size.common),
                        beginnings(lexicon, size.best));
    int64_t allowed = 0;
    for (const MeasuredLine& line : lines) allowed += std::ssize(shortlist.targets(line.source));
    allowed /= std::ssize(lines);
    const std::string listed =
        fmt::format("shortlist: {} of {} tokens for a line of validation text", allowed, config.target_vocab);
    if (static_cast<double>(allowed) > largest_share * config.target_vocab) {
      log_info("{}, too many to save much time", listed);
      break;
    }
    const Quality some = quality(&shortlist);
    const bool loses = some.bleu < all.bleu || some.chrf < all.chrf;
    log_info("{}; BLEU {:.1f} instead of {:.1f}, chrF {:.1f} instead of {:.1f}: {}", listed, some.bleu,
             all.bleu, some.chrf, all.chrf, loses ? "not kept" : "kept with the model");
    if (!loses) return shortlist;
  }
  log_info("the model has no shortlist");
  return {};
}

int64_t shortlist_tokens(const TokenCorpus& train, const ReferencedText& text, int beam_size) {
  constexpr int64_t links_in_time_of_token = 40;
  const int64_t translating = translation_tokens(text, beam_size);
  return translating == 0
             ? 0
             : translating * (1 + std::ssize(sizes)) +
                   std::min(train.size() * links_of_pair(train), most_links) / links_in_time_of_token;
}

int64_t shortlist_bytes(const TokenCorpus& train) {
  constexpr int64_t bytes_of_link = 24;
  return std::min(train.size() * links_of_pair(train), most_links) * bytes_of_link;
}

}  // namespace sixfold
