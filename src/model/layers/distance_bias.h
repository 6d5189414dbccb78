#pragma once
#include <mutex>

#include "model/layers/architecture.h"
#include "model/layers/attention_kind.h"
#include "model/layers/parameters.h"

namespace sixfold {

class Context;

/// The slope of a head for ALiBi (Press et al. 2022, section 3). With a power of two of heads, head h of n has
/// 2^(-8 (h + 1) / n): 1/2, 1/4, ... for 8 heads. Otherwise the first heads have the slopes of the next smaller
/// power of two, and the others have every other slope of the next larger one, as in the authors' program.
double alibi_slope(int head, int heads);

/// The bucket of a key that is `distance` places after the query, negative for keys before it (Raffel et al.
/// 2020, section 2.1). With `both_directions` half of the `buckets` are for keys after the query; otherwise all
/// are for keys before it, and keys after it have bucket 0. Half of the buckets of a direction have one
/// distance each, the others have ranges that grow exponentially. Distances from `longest` on share the last
/// bucket. `buckets` must be even, and `longest` more than buckets / 2.
int t5_bucket(int64_t distance, bool both_directions, int buckets, int64_t longest);

/// Position encodings that are added to the scores of self-attention: numbers that depend on the head and on
/// the distance between query and key. They are those of ALiBi, or the learned ones of T5. All layers of a
/// stack share them. Const members may be called from several threads.
class DistanceBias {
 public:
  /// T5's numbers are the weight `relative_attention_bias.weight`, [buckets, heads], within `make`'s scope.
  /// `stack`: encoder or decoder.
  DistanceBias(const ParameterBuilder& make, const Architecture& a, AttentionKind stack);

  /// Returns the bias for sequences of up to `keys` keys, [2 n - 1, heads] with n >= keys: row n - 1 + d is for
  /// keys d places after the query, as in `ops::AttentionInputs::distance_bias`. Returns an empty tensor if the
  /// architecture has no such positions.
  Tensor for_length(int64_t keys, Context& context) const;

 private:
  Tensor alibi(int64_t keys) const;
  Tensor t5(int64_t keys, Context& context) const;

  std::shared_ptr<Backend> backend_;
  DType dtype_;
  bool both_directions_;
  Positions kind_;  // alibi or t5; otherwise there is no bias
  int heads_, buckets_, longest_;
  Tensor learned_;  // the bias of T5, [buckets, heads]
  mutable std::mutex mutex_;
  mutable Tensor constant_;  // the bias of ALiBi, for the longest sequence so far
};

}  // namespace sixfold
