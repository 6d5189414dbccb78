#include "data/pair_dataset.h"

#include <algorithm>

#include "text/token_words.h"

namespace sixfold {

namespace {

constexpr uint64_t source_dropout_stream = 0x64735352,
                   target_dropout_stream = 0x64735447;  // the streams of the random numbers
constexpr uint64_t source_sampling_stream = 0x70735352, target_sampling_stream = 0x70735447;

}  // namespace

PairDataset::PairDataset(TokenCorpus corpus, Tokenizers tokenizers, TargetEnds ends, std::string hash,
                         TokenDropout dropout, PairLayout layout, SubwordSampling sampling)
    : corpus_(std::move(corpus)),
      tokenizers_(std::move(tokenizers)),
      ends_(ends),
      hash_(std::move(hash)),
      dropout_(dropout),
      layout_(std::move(layout)),
      sampling_(sampling) {
  if (sampling_.rate == 0) return;
  source_sampler_ = std::make_unique<SubwordSampler>(*tokenizers_.source);
  target_sampler_ = std::make_unique<SubwordSampler>(*tokenizers_.target);
}

/// Counts the tokens of the stored segmentation, since sampling other segmentations for all pairs when batches
/// are planned would take too long.
int64_t PairDataset::tokens(int64_t sample, int64_t /*epoch*/) const { return corpus_.tokens(sample); }

std::span<const int32_t> PairDataset::text_of_source(std::span<const int32_t> source) const {
  const size_t start = layout_.source_start.size(),
               first = start + (tokenizers_.source->is_language_token(source[start]) ? 1 : 0);
  return source.subspan(first, source.size() - layout_.source_end_size() - first);
}

/// The ids of a side, in which `text`, a part of them, is replaced by another segmentation.
std::vector<int32_t> PairDataset::resegmented(std::span<const int32_t> ids, std::span<const int32_t> text,
                                              const SubwordSampler& sampler, RandomStream random) const {
  const std::vector<int32_t> sampled = sampler.sample(text, sampling_.rate, random);
  std::vector<int32_t> all(ids.data(), text.data());
  all.insert(all.end(), sampled.begin(), sampled.end());
  all.insert(all.end(), text.data() + text.size(), ids.data() + ids.size());
  if (std::ssize(all) > std::max(sampling_.max_tokens, std::ssize(ids))) all.assign(ids.begin(), ids.end());
  return all;
}

std::vector<int32_t> PairDataset::source_of(int64_t sample, int64_t epoch) const {
  const std::span<const int32_t> ids = corpus_.source[sample];
  return source_sampler_ ? resegmented(ids, text_of_source(ids), *source_sampler_,
                                       random_of_sample(sampling_.seed, source_sampling_stream, epoch, sample))
                         : std::vector<int32_t>(ids.begin(), ids.end());
}

std::vector<int32_t> PairDataset::target_of(int64_t sample, int64_t epoch) const {
  const std::span<const int32_t> ids = corpus_.target[sample];
  return target_sampler_ ? resegmented(ids, ids.subspan(layout_.target_start.size()), *target_sampler_,
                                       random_of_sample(sampling_.seed, target_sampling_stream, epoch, sample))
                         : std::vector<int32_t>(ids.begin(), ids.end());
}

void PairDataset::add(int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  add_pair(sample, epoch, batch);
  if (corpus_.weights) batch.weigh(corpus_.weights.relative(sample));
}

void PairDataset::add_pair(int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  if (dropout_.rate == 0 && !source_sampler_) {
    batch.source(corpus_.source[sample]).teacher_forced(corpus_.target[sample], ends_);
    return add_links(sample, corpus_.source[sample], corpus_.target[sample], batch);
  }
  const std::vector<int32_t> source = source_of(sample, epoch);
  std::vector<int32_t> read = source;
  const std::vector<int32_t> target = target_of(sample, epoch);
  std::vector<int32_t> input = target;
  const std::span<const int32_t> text = text_of_source(read);
  dropout_.apply(std::span(read).subspan(static_cast<size_t>(text.data() - read.data()), text.size()),
                 tokenizers_.source->unk(), source_dropout_stream, sample, epoch);
  dropout_.apply(std::span(input).subspan(layout_.target_start.size()), tokenizers_.target->unk(),
                 target_dropout_stream, sample, epoch);
  batch.source(read).teacher_forced(target, input, ends_);
  add_links(sample, source, target, batch);
}

/// Each token of a target word is linked to all tokens of the source words that its word is linked to. The link
/// belongs to the decoder row that predicts the token, which has read the token before it. Nothing is added if
/// the words of the tokens are not those of the text, as with a tokenizer that turns characters into spaces.
void PairDataset::add_links(int64_t sample, std::span<const int32_t> source, std::span<const int32_t> target,
                            BatchBuilder& batch) const {
  if (corpus_.links.size() == 0 || corpus_.links[sample].empty()) return;
  const std::span<const int32_t> source_text = text_of_source(source),
                                 target_text = target.subspan(layout_.target_start.size());
  const std::vector<int> source_words = words_of_tokens(*tokenizers_.source, source_text),
                         target_words = words_of_tokens(*tokenizers_.target, target_text);
  const auto first_source = source_text.data() - source.data(),
             first_target = target_text.data() - target.data();
  const std::span<const int32_t> links = corpus_.links[sample];
  const auto count = [](const std::vector<int>& words) { return words.empty() ? 0 : words.back() + 1; };
  if (count(source_words) != links[0] || count(target_words) != links[1]) return;
  std::vector<Batch::Link> token_links;
  for (size_t i = 2; i + 1 < links.size(); i += 2) {
    const auto [source_begin, source_end] =
        std::equal_range(source_words.begin(), source_words.end(), links[i]);
    const auto [target_begin, target_end] =
        std::equal_range(target_words.begin(), target_words.end(), links[i + 1]);
    for (auto t = target_begin; t != target_end; ++t)
      for (auto s = source_begin; s != source_end; ++s)
        token_links.push_back({static_cast<int32_t>(first_target + (t - target_words.begin())),
                               static_cast<int32_t>(first_source + (s - source_words.begin()))});
  }
  std::ranges::sort(token_links);
  batch.link(token_links);
}

SampleDescription PairDataset::describe(int64_t sample) const {
  return {"pair",
          {{"source", tokenizers_.source->decode(corpus_.source[sample])},
           {"target", tokenizers_.target->decode(corpus_.target[sample])}}};
}

}  // namespace sixfold
