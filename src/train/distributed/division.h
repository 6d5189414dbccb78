#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sixfold {

/// A range of consecutive shards: [begin, end).
struct ShardInterval {
  int begin = 0, end = 1;
};

/// The binary tree by which the gradients of shards are added: a node [a, b) has the children [a, m) and
/// [m, b), with m = (a + b) / 2. Each process has the shards of one node, so that it can add its own before it
/// sends the sum. There must be at least as many shards as processes.
class ShardTree {
 public:
  ShardTree(int shards, int processes);

  int shards() const { return intervals_.back().end; }
  const ShardInterval& of_process(int rank) const { return intervals_[static_cast<size_t>(rank)]; }

  /// The sums that complete the tree, given those of the processes, in order: add that of process `right` to
  /// that of process `left`. The last one gives the sum of process 0.
  struct Addition {
    int left = 0, right = 0;
  };
  const std::vector<Addition>& additions() const { return additions_; }

 private:
  void divide(ShardInterval shards, int first, int processes);

  std::vector<ShardInterval> intervals_;
  std::vector<Addition> additions_;
};

/// A part of a weight: elements [begin, begin + count).
struct WeightPart {
  size_t weight = 0;
  int64_t begin = 0, count = 0;
};

/// Which process updates which elements of the weights, and in which order their gradients are exchanged (ZeRO
/// stage 1, Rajbhandari et al. 2020). Weights are cut at multiples of the blocks over which the squares of
/// gradients are added, so that the gradient norm has the same bits for any number of processes. Buckets begin
/// with the last weights, whose gradients are complete first; the parts of a bucket are shared evenly.
class WeightDivision {
 public:
  struct Bucket {
    std::vector<std::vector<WeightPart>> parts;  ///< by process
    size_t first_weight = 0, last_weight = 0;    ///< the weights of its elements
    int64_t elements(int process) const;
  };

  static constexpr int64_t bucket_elements = int64_t{1} << 19;

  /// `sizes`: the number of elements of each weight. `block`: the number of elements of a block. `whole`: each
  /// weight is owned by one process; buckets are then not shared evenly. A bucket has about `bucket` elements.
  WeightDivision(std::span<const int64_t> sizes, int processes, int64_t block, int64_t bucket = bucket_elements,
                 bool whole = false);

  const std::vector<Bucket>& buckets() const { return buckets_; }
  /// The parts of a process, sorted by weight and begin; adjacent parts are joined.
  std::vector<WeightPart> parts_of(int process) const;

 private:
  size_t least_loaded() const;
  void close(Bucket bucket, int processes);

  std::vector<Bucket> buckets_;
  std::vector<int64_t> loads_;  ///< number of elements that each process owns
  std::vector<size_t> owners_;  ///< the process of each weight; empty: weights are divided
};

}  // namespace sixfold
