#include "model/layers/token_embedding.h"

#include <cmath>

#include "base/error.h"

namespace sixfold {

TokenEmbedding::TokenEmbedding(ParameterBuilder make, const Architecture& a)
    : architecture_(a),
      scale_(a.embedding_scale ? std::sqrt(static_cast<double>(a.d_model)) : 1.0),
      dropout_(!a.postprocess_embedding.empty() && a.postprocess_embedding.front() == ProcessStep::dropout
                   ? double{a.dropout}
                   : 0.0),
      sinusoids_(make.backend(), make.dtype(), a.d_model, a.positions) {
  if (architecture_.positions == Positions::learned)
    learned_ = make.table("embed_positions.weight", a.max_positions, a.d_model, ParameterUse::elementwise);
}

Tensor TokenEmbedding::operator()(const Tensor& table, std::span<const int32_t> ids, const TokenRows& rows,
                                  std::span<const int32_t> lengths, Context& context) const {
  const Tensor tokens = context.indices(ids);
  const PositionEffect effect = effect_of(architecture_.positions);
  if (effect == PositionEffect::learned_table || effect == PositionEffect::feature)
    return positioned(ops::embed(context, {table, {}, scale_}, tokens, rows), rows, lengths, context);
  const Dropout dropout = dropout_ > 0 ? context.dropout(dropout_, rows) : Dropout();
  return ops::embed(context, {table, sinusoids_.at_least(rows.longest), scale_}, tokens, rows, dropout);
}

Tensor TokenEmbedding::positioned(const Tensor& x, const TokenRows& rows, std::span<const int32_t> lengths,
                                  Context& context) const {
  require_positions(architecture_, rows.longest, "a sentence");
  const Dropout dropout = dropout_ > 0 ? context.dropout(dropout_, rows) : Dropout();
  const auto embedded = [&](const Tensor& table) {
    return ops::dropout(
        context, {ops::add(context, x, ops::embed(context, {.table = table}, rows.position, rows)), dropout});
  };
  switch (effect_of(architecture_.positions)) {
    case PositionEffect::sinusoids:
      return embedded(sinusoids_.at_least(rows.longest));
    case PositionEffect::learned_table:
      return embedded(learned_);
    case PositionEffect::feature: {
      const Tensor of = needs_lengths() ? context.indices(lengths) : Tensor();
      return ops::dropout(context, {ops::position_feature(context, x, rows, of), dropout});
    }
    case PositionEffect::rotation:
    case PositionEffect::distance_bias:
    case PositionEffect::none:
      return ops::dropout(context, {x, dropout});
  }
  throw_unknown("effect of positions", effect_of(architecture_.positions));
}

}  // namespace sixfold
