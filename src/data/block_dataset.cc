#include "data/block_dataset.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"

namespace sixfold {

BlockDataset::BlockDataset(IdSequences texts, Tokenizers tokenizers, const BlockOptions& options,
                           std::string hash)
    : texts_(std::move(texts)), tokenizers_(std::move(tokenizers)), options_(options), hash_(std::move(hash)) {
  require(options_.tokens >= 1, "a block must have at least one token");
  for (int64_t text = 0; text < texts_.size(); ++text) begins_.push_back(begins_.back() + blocks_of(text));
}

/// Where a stream is cut at other places in each epoch, its last block begins less than a block before its end,
/// and is therefore never empty.
int64_t BlockDataset::blocks_of(int64_t text) const {
  const int64_t labels = std::ssize(texts_[text]) + (ends_texts() ? 1 : 0);
  const int64_t blocks = (labels + options_.tokens - 1) / options_.tokens;
  return options_.shifts && !ends_texts() && blocks > 1 ? blocks - 1 : blocks;
}

BlockDataset::Block BlockDataset::block(int64_t sample, int64_t epoch) const {
  const auto after = std::ranges::upper_bound(begins_, sample);
  const int64_t text = after - begins_.begin() - 1;
  const std::span<const int32_t> ids = texts_[text];
  int64_t begin = (sample - begins_[static_cast<size_t>(text)]) * options_.tokens;
  if (options_.shifts && !ends_texts() && epoch > 0 && std::ssize(ids) > options_.tokens) {
    constexpr uint64_t stream = 0x626C6F636B;  // "block"
    begin += RandomStream(static_cast<uint64_t>(epoch), stream).below(static_cast<uint32_t>(options_.tokens));
  }
  const int64_t count = std::min(options_.tokens, std::ssize(ids) - begin);
  return {ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(count)),
          ends_texts() && count < options_.tokens};
}

int64_t BlockDataset::tokens(int64_t sample, int64_t epoch) const {
  const Block chosen = block(sample, epoch);
  return std::ssize(chosen.ids) + (chosen.ends ? 1 : 0);
}

void BlockDataset::add(int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  const Block chosen = block(sample, epoch);
  if (chosen.ends)
    batch.teacher_forced(chosen.ids, options_.ends);
  else
    batch.teacher_forced_prefix(chosen.ids, options_.ends.start);
}

SampleDescription BlockDataset::describe(int64_t sample) const {
  return {"block", {{"text", tokenizers_.target->decode(block(sample, 0).ids)}}};
}

}  // namespace sixfold
