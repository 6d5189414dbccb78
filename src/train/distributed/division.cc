#include "train/distributed/division.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/plural.h"

namespace sixfold {
namespace {

/// Appends a part, or extends the last one if that ends where the part begins.
void join(std::vector<WeightPart>& parts, const WeightPart& part) {
  if (!parts.empty() && parts.back().weight == part.weight &&
      parts.back().begin + parts.back().count == part.begin)
    parts.back().count += part.count;
  else
    parts.push_back(part);
}

}  // namespace

ShardTree::ShardTree(int shards, int processes) {
  require(processes <= shards,
          "train.shards is {}, so that at most {} can share the work, but there are {}; start fewer, or set "
          "train.shards (which changes the bits of the results)",
          shards, counted(shards, "process", "processes"), processes);
  divide({0, shards}, 0, processes);
}

void ShardTree::divide(ShardInterval shards, int first, int processes) {
  if (processes == 1) {
    intervals_.push_back(shards);
    return;
  }
  const int middle = (shards.begin + shards.end) / 2;
  const int left = middle - shards.begin, right = shards.end - middle;
  // The processes are divided as evenly as the numbers of shards of both sides allow.
  const int on_left =
      std::clamp(processes / 2, processes - std::min(right, processes - 1), std::min(left, processes - 1));
  divide({shards.begin, middle}, first, on_left);
  divide({middle, shards.end}, first + on_left, processes - on_left);
  additions_.push_back({first, first + on_left});
}

int64_t WeightDivision::Bucket::elements(int process) const {
  int64_t count = 0;
  for (const WeightPart& part : parts[static_cast<size_t>(process)]) count += part.count;
  return count;
}

WeightDivision::WeightDivision(std::span<const int64_t> sizes, int processes, int64_t block, int64_t bucket,
                               bool whole)
    : loads_(static_cast<size_t>(processes), 0) {
  if (whole) {  // the largest first, each to the least loaded process
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](size_t weight) { return sizes[weight]; });
    owners_.resize(sizes.size());
    for (const size_t weight : order) loads_[owners_[weight] = least_loaded()] += sizes[weight];
  }
  // A bucket is collected as the part of process 0, block by block, and then shared.
  const auto empty = [&] { return Bucket{.parts = {{}}}; };
  Bucket collected = empty();
  int64_t elements = 0;
  for (size_t weight = sizes.size(); weight-- > 0;) {
    for (int64_t begin = 0; begin < sizes[weight]; begin += block) {
      const int64_t count = std::min(block, sizes[weight] - begin);
      collected.parts[0].push_back({weight, begin, count});
      elements += count;
      if (elements < bucket) continue;
      close(std::move(collected), processes);
      collected = empty();
      elements = 0;
    }
  }
  if (elements > 0) close(std::move(collected), processes);
}

/// The process that owns the fewest elements so far.
size_t WeightDivision::least_loaded() const {
  return static_cast<size_t>(std::ranges::min_element(loads_) - loads_.begin());
}

void WeightDivision::close(Bucket bucket, int processes) {
  const std::vector<WeightPart> blocks = std::move(bucket.parts[0]);
  bucket.parts.assign(static_cast<size_t>(processes), {});
  bucket.last_weight = blocks.front().weight;
  bucket.first_weight = blocks.back().weight;
  int64_t all = 0;
  for (const WeightPart& part : blocks) all += part.count;
  const int64_t share = (all + processes - 1) / processes;
  size_t owner = least_loaded();
  int64_t assigned = 0;
  for (const WeightPart& part : blocks) {
    if (!owners_.empty()) {
      owner = owners_[part.weight];
    } else if (assigned >= share) {
      owner = least_loaded();
      assigned = 0;
    }
    join(bucket.parts[owner], part);
    assigned += part.count;
    if (owners_.empty()) loads_[owner] += part.count;
  }
  buckets_.push_back(std::move(bucket));
}

std::vector<WeightPart> WeightDivision::parts_of(int process) const {
  std::vector<WeightPart> all;
  for (const Bucket& bucket : buckets_) {
    const auto& own = bucket.parts[static_cast<size_t>(process)];
    all.insert(all.end(), own.begin(), own.end());
  }
  std::ranges::sort(all, [](const WeightPart& a, const WeightPart& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.begin < b.begin;
  });
  std::vector<WeightPart> parts;
  for (const WeightPart& part : all) join(parts, part);
  return parts;
}

}  // namespace sixfold
