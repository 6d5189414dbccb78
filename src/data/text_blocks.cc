#include "data/text_blocks.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/random.h"

namespace sixfold {

TextBlocks::TextBlocks(IdSequences texts, const BlockOptions& options)
    : texts_(std::move(texts)), options_(options) {
  require(options_.tokens >= 1, "a block must have at least one token");
  require(!options_.ends || !options_.shifts, "texts that end are not cut at other places");
  for (int64_t text = 0; text < texts_.size(); ++text) {
    if (text % group == 0) begins_.push_back(size_);
    size_ += blocks_of(text);
  }
}

/// If a text is cut at different places in each epoch, it has one block less, so that its last block is never
/// empty, wherever the first one begins.
int64_t TextBlocks::blocks_of(int64_t text) const {
  const int64_t labels = std::ssize(texts_[text]) + (options_.ends ? 1 : 0);
  const int64_t blocks = (labels + options_.tokens - 1) / options_.tokens;
  return options_.shifts && blocks > 1 ? blocks - 1 : blocks;
}

TextBlocks::Block TextBlocks::block(int64_t number, int64_t epoch) const {
  const auto after = std::ranges::upper_bound(begins_, number);
  int64_t text = (after - begins_.begin() - 1) * group, within = number - *std::prev(after);
  for (int64_t blocks; within >= (blocks = blocks_of(text)); ++text) within -= blocks;
  const std::span<const int32_t> ids = texts_[text];
  int64_t begin = within * options_.tokens;
  if (options_.shifts && epoch > 0 && std::ssize(ids) > options_.tokens) {
    constexpr uint64_t stream = 0x626C6F636B;  // "block"
    begin += random_of_sample(options_.seed, stream, 0, epoch).below(static_cast<uint32_t>(options_.tokens));
  }
  const int64_t count = std::min(options_.tokens, std::ssize(ids) - begin);
  return {ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(count)),
          options_.ends && count < options_.tokens};
}

}  // namespace sixfold
