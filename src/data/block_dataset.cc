#include "data/block_dataset.h"

namespace sixfold {

BlockDataset::BlockDataset(TextBlocks blocks, Tokenizers tokenizers, TargetEnds ends, std::string hash)
    : blocks_(std::move(blocks)), tokenizers_(std::move(tokenizers)), ends_(ends), hash_(std::move(hash)) {}

int64_t BlockDataset::tokens(int64_t sample, int64_t epoch) const {
  const TextBlocks::Block chosen = blocks_.block(sample, epoch);
  return std::ssize(chosen.ids) + (chosen.ends ? 1 : 0);
}

void BlockDataset::add(int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  const TextBlocks::Block chosen = blocks_.block(sample, epoch);
  if (chosen.ends)
    batch.teacher_forced(chosen.ids, ends_);
  else
    batch.teacher_forced_prefix(chosen.ids, ends_.start);
}

SampleDescription BlockDataset::describe(int64_t sample) const {
  return {"block", {{"text", tokenizers_.target->decode(blocks_.block(sample, 0).ids)}}};
}

}  // namespace sixfold
