#include "families/marian_mt_weights.h"

#include <algorithm>
#include <cmath>

#include "model/layers/positions.h"

namespace sixfold {
namespace {

constexpr const char* positions_weight = "embed_positions.weight";

}  // namespace

std::optional<Positions> formula_of(const Matrix& table) {
  for (const Positions kind :
       {Positions::sinusoidal_halves, Positions::sinusoidal_marian, Positions::sinusoidal}) {
    bool same = true;
    for (int64_t p = 0; same && p < table.rows; ++p)
      for (int64_t i = 0; same && i < table.cols; ++i)
        same = std::abs(table.at(p, i) - sinusoidal_position(p, i, table.cols, kind)) < 1e-2;
    if (same) return kind;
  }
  return std::nullopt;
}

MarianMTWeights::MarianMTWeights(const Transformer& model, int positions)
    : model_(model), c_(model.config()), table_(make_table(positions)) {
  // Interleaved positions are reordered: first the sines, then the cosines.
  const int64_t step = c_.positions == Positions::sinusoidal ? 2 : 1;
  for (int64_t first = 0; first < step; ++first)
    for (int64_t i = first; i < c_.d_model; i += step) order_.push_back(i);
}

std::vector<float> MarianMTWeights::values(const Parameter& weight) const {
  if (weight.name == positions_weight) return table_->values;
  const bool output_bias = weight.name == "output_projection.bias";
  std::vector<float> own = output_bias && !c_.output_bias
                               ? std::vector<float>(static_cast<size_t>(c_.target_vocab))
                               : values_of(model_, weight.name);
  const int64_t cols = weight.shape.size() == 1 ? std::ssize(own) : weight.tensor.cols();
  Matrix matrix = in_order(weight.name, {std::ssize(own) / cols, cols, std::move(own), false});
  const double factor = factor_of(weight.name);
  for (float& value : matrix.values) value = static_cast<float>(value * factor);
  // The padding token has an embedding of zeros, and takes no probability from the others; fp16 holds its bias.
  matrix.values.resize(static_cast<size_t>(weight.tensor.size()), output_bias ? -1e4f : 0.0f);
  return std::move(matrix.values);
}

/// The factor by which the states between sub-layers are scaled. If the epsilon of a norm grows by a factor and
/// its input by the square root of that factor, its output is unchanged. So MarianMTModel's norms, whose
/// epsilon is 1e-5, give the same results as those of this model.
double MarianMTWeights::state_scale() const {
  return c_.norm_epsilon == 1e-5f ? 1 : std::sqrt(1e-5 / c_.norm_epsilon);
}

/// The factor of a weight that scales the states but not the logits: weights that produce states grow, weights
/// that read them shrink. The decoder's last norm shrinks too, since the output projection may be a tied
/// embedding.
double MarianMTWeights::factor_of(const std::string& name) const {
  const double factor = state_scale();
  const std::string_view parameter = std::string_view(name).substr(0, name.rfind('.'));
  const auto is = [&](const char* ending) { return parameter.ends_with(ending); };
  if (parameter == fmt::format("decoder.layers.{}.final_layer_norm", c_.decoder_layers - 1)) return 1 / factor;
  if (is("q_proj") || is("k_proj") || is("v_proj") || is("fc1"))
    return name.ends_with(".weight") ? 1 / factor : 1;
  return name == "output_projection.bias" ? 1 : factor;
}

Matrix MarianMTWeights::columns_in_order(const Matrix& matrix) const {
  Matrix result = matrix;
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < matrix.cols; ++c) result.at(r, c) = matrix.at(r, order_[static_cast<size_t>(c)]);
  return result;
}

/// Permutes the features of d_model in a weight. They are the rows of projections to d_model and the columns of
/// all other weights, except of biases inside attention and feed-forward layers.
Matrix MarianMTWeights::in_order(const std::string& name, Matrix matrix) const {
  const auto ends = [&](std::initializer_list<const char*> endings) {
    return std::any_of(endings.begin(), endings.end(),
                       [&](const char* ending) { return name.ends_with(ending); });
  };
  if (ends({"out_proj.weight", "fc2.weight"})) return transposed(columns_in_order(transposed(matrix)));
  if (ends({"q_proj.bias", "k_proj.bias", "v_proj.bias", "fc1.bias", "output_projection.bias"})) return matrix;
  return columns_in_order(matrix);
}

std::optional<Matrix> MarianMTWeights::make_table(int rows) const {
  const bool theirs = c_.positions == Positions::sinusoidal || c_.positions == Positions::sinusoidal_halves;
  if (theirs && state_scale() == 1) return std::nullopt;
  Matrix table{rows, c_.d_model,
               std::vector<float>(static_cast<size_t>(rows) * static_cast<size_t>(c_.d_model))};
  if (c_.positions == Positions::none) return table;
  std::vector<float> learned;
  if (c_.positions == Positions::learned) learned = values_of(model_, positions_weight);
  const Positions kind = theirs ? Positions::sinusoidal_halves : c_.positions;
  for (int64_t p = 0; p < rows; ++p)
    for (int64_t i = 0; i < c_.d_model; ++i) {
      const double value =
          learned.empty()
              ? sinusoidal_position(p, i, c_.d_model, kind)
              : learned[static_cast<size_t>(std::min<int64_t>(p, c_.max_positions - 1) * c_.d_model + i)];
      table.at(p, i) = static_cast<float>(value * state_scale());
    }
  return table;
}

}  // namespace sixfold
