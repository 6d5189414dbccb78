#include "model/layers/token_embedding.h"

#include <cmath>
#include <vector>

#include "base/error.h"

namespace sixfold {

TokenEmbedding::TokenEmbedding(const ParameterBuilder& make, const Architecture& a, Tables tables)
    : architecture_(a),
      scale_(a.embedding_scale ? std::sqrt(static_cast<double>(a.d_model)) : 1.0),
      dropout_(!a.postprocess_embedding.empty() && a.postprocess_embedding.front() == ProcessStep::dropout
                   ? double{a.dropout}
                   : 0.0),
      tables_(std::move(tables)) {
  if (is_sinusoidal(a.positions)) sinusoids_.emplace(make.backend(), make.dtype(), a.d_model, sinusoids(a));
}

Tensor TokenEmbedding::operator()(const Tensor& table, std::span<const int32_t> ids, const TokenRows& rows,
                                  const PerToken& tokens, Context& context) const {
  const Tensor token_ids = context.indices(ids);
  const PositionEffect effect = effect_of(architecture_.positions);
  if (effect == PositionEffect::learned_table || effect == PositionEffect::feature || tables_.types)
    return positioned(ops::embed(context, {table, {}, scale_}, token_ids, rows), rows, tokens, context);
  const Dropout dropout = dropout_ > 0 ? context.dropout(dropout_, rows) : Dropout();
  const Tensor positions = sinusoids_ ? sinusoids_->for_length(rows.longest) : Tensor();
  return ops::embed(context, {table, positions, scale_}, token_ids, rows, dropout);
}

Tensor TokenEmbedding::positioned(Tensor x, const TokenRows& rows, const PerToken& tokens,
                                  Context& context) const {
  require_positions(architecture_, rows.longest, "a sentence");
  const Dropout dropout = dropout_ > 0 ? context.dropout(dropout_, rows) : Dropout();
  if (tables_.types) {
    const std::vector<int32_t> first(tokens.types.empty() ? static_cast<size_t>(x.rows()) : 0);
    const Tensor types = context.indices(tokens.types.empty() ? first : tokens.types);
    x = ops::add(context, x, ops::embed(context, {.table = tables_.types}, types, rows));
  }
  const auto embedded = [&](const Tensor& table) {
    return ops::dropout(
        context, {ops::add(context, x, ops::embed(context, {.table = table}, rows.position, rows)), dropout});
  };
  switch (effect_of(architecture_.positions)) {
    case PositionEffect::sinusoids:
      return embedded(sinusoids_->for_length(rows.longest));
    case PositionEffect::learned_table:
      return embedded(tables_.positions);
    case PositionEffect::feature: {
      const Tensor lengths = needs_lengths() ? context.indices(tokens.lengths) : Tensor();
      return ops::dropout(context, {ops::position_feature(context, x, rows, lengths), dropout});
    }
    case PositionEffect::rotation:
    case PositionEffect::distance_bias:
    case PositionEffect::none:
      return ops::dropout(context, {x, dropout});
  }
  throw_unknown("effect of positions", effect_of(architecture_.positions));
}

}  // namespace sixfold
