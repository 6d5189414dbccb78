#include "data/pair_dataset.h"

namespace sixfold {

PairDataset::PairDataset(TokenCorpus corpus, Tokenizers tokenizers, TargetEnds ends, std::string hash,
                         TokenDropout dropout, PairLayout layout)
    : corpus_(std::move(corpus)),
      tokenizers_(std::move(tokenizers)),
      ends_(ends),
      hash_(std::move(hash)),
      dropout_(dropout),
      layout_(std::move(layout)) {}

int64_t PairDataset::tokens(int64_t sample, int64_t /*epoch*/) const { return corpus_.tokens(sample); }

void PairDataset::add(int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  const std::span<const int32_t> source = corpus_.source[sample], target = corpus_.target[sample];
  if (dropout_.rate == 0) {
    batch.source(source).teacher_forced(target, ends_);
    return;
  }
  constexpr uint64_t of_source = 0x64735352, of_target = 0x64735447;
  std::vector<int32_t> read(source.begin(), source.end()), input(target.begin(), target.end());
  const size_t start = layout_.source_start.size(),
               first = start + (tokenizers_.source->is_language_token(read[start]) ? 1 : 0);
  dropout_.apply(std::span(read).subspan(first, read.size() - layout_.source_end_size() - first),
                 tokenizers_.source->unk(), of_source, sample, epoch);
  dropout_.apply(std::span(input).subspan(layout_.target_start.size()), tokenizers_.target->unk(), of_target,
                 sample, epoch);
  batch.source(read).teacher_forced(target, input, ends_);
}

SampleDescription PairDataset::describe(int64_t sample) const {
  return {"pair",
          {{"source", tokenizers_.source->decode(corpus_.source[sample])},
           {"target", tokenizers_.target->decode(corpus_.target[sample])}}};
}

}  // namespace sixfold
