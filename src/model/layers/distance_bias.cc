#include "model/layers/distance_bias.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/ops.h"

namespace sixfold {

double alibi_slope(int head, int heads) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(heads)));
  const double exponent =
      head < power ? 8.0 * (head + 1) / power : 8.0 * (2 * (head - power) + 1) / (2 * power);
  return std::exp2(-exponent);
}

int t5_bucket(int64_t distance, bool both_directions, int buckets, int64_t longest) {
  int first = 0;
  if (both_directions) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(-distance, 0);
  }
  const int exact = buckets / 2;
  if (distance < exact) return first + static_cast<int>(distance);
  const double log_ratio = std::log(static_cast<double>(distance) / exact),
               max_log_ratio = std::log(static_cast<double>(longest) / exact);
  return first + std::min(buckets - 1, exact + static_cast<int>(log_ratio / max_log_ratio * (buckets - exact)));
}

DistanceBias::DistanceBias(const ParameterBuilder& make, const Architecture& a, AttentionKind stack)
    : backend_(make.backend()),
      dtype_(make.dtype()),
      both_directions_(stack == AttentionKind::encoder),
      kind_(is_self_attention(both_directions_ ? a.encoder_mixer : a.decoder_mixer) ? a.positions
                                                                                    : Positions::none),
      heads_(a.heads),
      buckets_(a.position_buckets),
      longest_(a.position_distance) {
  if (kind_ == Positions::t5)
    learned_ = make.in("relative_attention_bias").table("weight", buckets_, heads_, ParameterUse::elementwise);
}

Tensor DistanceBias::for_length(int64_t keys, Context& context) const {
  keys = std::max<int64_t>(keys, 1);  // so that the tensor has a row if there are no tokens
  if (effect_of(kind_) != PositionEffect::distance_bias) return {};
  return kind_ == Positions::t5 ? t5(keys, context) : alibi(keys);
}

Tensor DistanceBias::alibi(int64_t keys) const {
  std::lock_guard lock(mutex_);
  if (constant_ && constant_.rows() >= 2 * keys - 1) return constant_;
  const int64_t n = std::max<int64_t>(256, keys + keys / 2);
  std::vector<double> values;
  for (int64_t distance = 1 - n; distance < n; ++distance)
    for (int head = 0; head < heads_; ++head)
      values.push_back(-alibi_slope(head, heads_) * static_cast<double>(std::abs(distance)));
  Tensor table(lasting_memory(backend_), 2 * n - 1, heads_, dtype_);
  table.copy_from(*backend_, values);
  return constant_ = table;
}

/// The rows are looked up by the embedding op, so that gradients flow to the buckets.
Tensor DistanceBias::t5(int64_t keys, Context& context) const {
  std::vector<int32_t> ids;
  for (int64_t distance = 1 - keys; distance < keys; ++distance)
    ids.push_back(t5_bucket(distance, both_directions_, buckets_, longest_));
  TokenRows rows;
  rows.ragged.offsets = {0, static_cast<int32_t>(ids.size())};
  return ops::embed(context, {learned_, {}}, context.indices(ids), rows);
}

}  // namespace sixfold
