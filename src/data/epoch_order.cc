#include "data/epoch_order.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/plural.h"
#include "base/random.h"

namespace sixfold {
namespace {

constexpr uint32_t rounds = 6;

}  // namespace

Permutation::Permutation(int64_t size, uint64_t seed, uint64_t stream)
    : size_(static_cast<uint64_t>(size)),
      half_bits_(1),
      keys_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
      stream_(stream) {
  while (half_bits_ < 31 && (uint64_t{1} << (2 * half_bits_)) < size_) ++half_bits_;
}

int64_t Permutation::operator()(int64_t place) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  auto value = static_cast<uint64_t>(place);
  do {
    uint64_t left = value >> half_bits_, right = value & mask;
    for (uint32_t round = 0; round < rounds; ++round) {
      const auto bits = Philox::bits({static_cast<uint32_t>(right), round, static_cast<uint32_t>(stream_),
                                      static_cast<uint32_t>(stream_ >> 32)},
                                     keys_[0], keys_[1]);
      const uint64_t mixed = left ^ (bits[0] & mask);
      left = right;
      right = mixed;
    }
    value = left << half_bits_ | right;
  } while (value >= size_);
  return static_cast<int64_t>(value);
}

EpochOrder::EpochOrder(const std::vector<Part>& parts, bool shuffle, uint64_t seed)
    : parts_(parts), shuffle_(shuffle), seed_(seed) {
  for (const Part& part : parts_) {
    require(part.samples >= 0 && part.weight >= 0 && std::isfinite(part.weight) &&
                part.weight * static_cast<double>(part.samples) < 0x1p60,
            "the weight of a corpus of {} is {}; it must be at least 0 and not too large",
            counted(part.samples, "sample"), part.weight);
    begins_.push_back(begins_.back() + std::llround(part.weight * static_cast<double>(part.samples)));
  }
  require(places() > 0, "no sample is left to train on: there are none, or every weight is 0");
}

int64_t EpochOrder::sample(int64_t epoch, int64_t place) const {
  // Even stream numbers are for the order of epochs, odd ones for the passes over a part.
  if (shuffle_) place = Permutation(places(), seed_, 2 * static_cast<uint64_t>(epoch))(place);
  const auto next = std::upper_bound(begins_.begin(), begins_.end(), place);
  const auto index = static_cast<size_t>(next - begins_.begin() - 1);
  const Part& part = parts_[index];
  const int64_t places_of_part = begins_[index + 1] - begins_[index];
  // The places of the part in all epochs, one after the other, form passes over its samples.
  const int64_t index_in_passes = epoch * places_of_part + place - begins_[index];
  int64_t sample = index_in_passes % part.samples;
  if (shuffle_ && places_of_part != part.samples) {
    const auto pass = static_cast<uint64_t>(index_in_passes / part.samples);
    sample = Permutation(part.samples, seed_, 2 * (pass * parts_.size() + index) + 1)(sample);
  }
  for (size_t i = 0; i < index; ++i) sample += parts_[i].samples;
  return sample;
}

}  // namespace sixfold
