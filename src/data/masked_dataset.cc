#include "data/masked_dataset.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/class_dataset.h"

namespace sixfold {
namespace {

/// Chooses `count` of the places [0, n), in ascending order.
std::vector<int32_t> choose_places(int64_t n, int64_t count, RandomStream& random) {
  std::vector<int32_t> places(static_cast<size_t>(n));
  std::iota(places.begin(), places.end(), 0);
  for (int64_t i = 0; i < count; ++i)
    std::swap(places[static_cast<size_t>(i)],
              places[static_cast<size_t>(i + random.below(static_cast<uint32_t>(n - i)))]);
  places.resize(static_cast<size_t>(count));
  std::ranges::sort(places);
  return places;
}

}  // namespace

MaskedDataset::MaskedDataset(TextBlocks blocks, Tokenizers tokenizers, const MaskingOptions& options,
                             std::string hash)
    : blocks_(std::move(blocks)),
      tokenizers_(std::move(tokenizers)),
      options_(options),
      hash_(std::move(hash)) {
  require(options_.share > 0 && options_.share <= 1,
          "the share of masked tokens is {}; it must be above 0 and at most 1", options_.share);
}

int64_t MaskedDataset::tokens(int64_t sample, int64_t epoch) const {
  return std::ssize(blocks_.block(sample, epoch).ids) + (options_.bos >= 0 ? 2 : 1);
}

void MaskedDataset::add(int64_t sample, int64_t epoch, BatchBuilder& batch) const {
  const std::span<const int32_t> text = blocks_.block(sample, epoch).ids;
  constexpr uint64_t stream = 0x6D61736B;  // "mask"
  RandomStream random = random_of_sample(options_.seed, stream, epoch, sample);
  const auto expected = std::llround(options_.share * static_cast<double>(text.size()));
  std::vector<int32_t> places = choose_places(std::ssize(text), std::max<int64_t>(expected, 1), random);
  std::vector<int32_t> changed(text.begin(), text.end()), labels;
  for (const int32_t place : places) {
    int32_t& token = changed[static_cast<size_t>(place)];
    labels.push_back(token);
    const uint32_t tenth = random.below(10);
    if (tenth < 8) token = options_.mask;
    if (tenth == 8) token = static_cast<int32_t>(random.below(static_cast<uint32_t>(options_.vocabulary)));
  }
  batch.source(classifier_input(changed, std::ssize(changed), options_.bos, options_.eos));
  if (options_.bos >= 0)
    for (int32_t& place : places) ++place;
  batch.label_tokens(places, labels);
}

SampleDescription MaskedDataset::describe(int64_t sample) const {
  return {"block", {{"text", tokenizers_.source->decode(blocks_.block(sample, 0).ids)}}};
}

}  // namespace sixfold
