#include "families/causal_names.h"

namespace sixfold {
namespace {

/// Reorders the rows of each head of `d_k` rows (or the columns of a bias): between pairs side by side, as ours
/// are, and halves.
Matrix reorder(const Matrix& matrix, int64_t d_k, bool to_pairs) {
  Matrix result = matrix;
  const bool bias = matrix.vector;
  const int64_t count = bias ? matrix.cols : matrix.rows, half = d_k / 2;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t head = i / d_k * d_k, feature = i % d_k;
    const int64_t pair = head + feature % half * 2 + feature / half;  // of the feature that is i in halves
    const int64_t to = to_pairs ? pair : i, from = to_pairs ? i : pair;
    if (bias) {
      result.at(0, to) = matrix.at(0, from);
      continue;
    }
    for (int64_t c = 0; c < matrix.cols; ++c) result.at(to, c) = matrix.at(from, c);
  }
  return result;
}

}  // namespace

std::vector<LayerWeight> llama_layer(const Architecture& a, bool attention_bias) {
  const int64_t d = a.d_model, ff = a.d_ff, queries = int64_t{a.heads} * a.key_width(),
                keys = int64_t{a.key_value_heads()} * a.key_width();
  std::vector<LayerWeight> weights{
      {"self_attn.q_proj.weight", "self_attn.q_proj.weight", queries, d, Stored::rotated},
      {"self_attn.k_proj.weight", "self_attn.k_proj.weight", keys, d, Stored::rotated},
      {"self_attn.v_proj.weight", "self_attn.v_proj.weight", keys, d},
      {"self_attn.out_proj.weight", "self_attn.o_proj.weight", d, queries},
      {"self_attn_layer_norm.weight", "input_layernorm.weight", 1, d},
      {"final_layer_norm.weight", "post_attention_layernorm.weight", 1, d},
      {"fc1.weight", "mlp.up_proj.weight", ff, d},
      {"fc_gate.weight", "mlp.gate_proj.weight", ff, d},
      {"fc2.weight", "mlp.down_proj.weight", d, ff},
  };
  if (attention_bias) {
    weights.push_back({"self_attn.q_proj.bias", "self_attn.q_proj.bias", 1, queries, Stored::rotated});
    weights.push_back({"self_attn.k_proj.bias", "self_attn.k_proj.bias", 1, keys, Stored::rotated});
    weights.push_back({"self_attn.v_proj.bias", "self_attn.v_proj.bias", 1, keys});
    weights.push_back({"self_attn.out_proj.bias", "self_attn.o_proj.bias", 1, d});
  }
  if (a.feed_forward_bias) {
    weights.push_back({"fc1.bias", "mlp.up_proj.bias", 1, ff});
    weights.push_back({"fc_gate.bias", "mlp.gate_proj.bias", 1, ff});
    weights.push_back({"fc2.bias", "mlp.down_proj.bias", 1, d});
  }
  return weights;
}

std::vector<LayerWeight> gpt2_layer(const Architecture& a) {
  const int64_t d = a.d_model, ff = a.d_ff;
  return {{"self_attn_layer_norm.weight", "ln_1.weight", 1, d},
          {"self_attn_layer_norm.bias", "ln_1.bias", 1, d},
          {"self_attn.out_proj.weight", "attn.c_proj.weight", d, d, Stored::transposed},
          {"self_attn.out_proj.bias", "attn.c_proj.bias", 1, d},
          {"final_layer_norm.weight", "ln_2.weight", 1, d},
          {"final_layer_norm.bias", "ln_2.bias", 1, d},
          {"fc1.weight", "mlp.c_fc.weight", ff, d, Stored::transposed},
          {"fc1.bias", "mlp.c_fc.bias", 1, ff},
          {"fc2.weight", "mlp.c_proj.weight", d, ff, Stored::transposed},
          {"fc2.bias", "mlp.c_proj.bias", 1, d}};
}

Matrix take_weight(WeightReader& reader, const std::string& name, const LayerWeight& weight,
                   const Architecture& a) {
  const Stored stored = weight.stored;
  const bool turned = stored == Stored::transposed;
  Matrix matrix = reader.take(name, turned ? weight.cols : weight.rows, turned ? weight.rows : weight.cols);
  if (stored == Stored::alike) return matrix;
  return stored == Stored::transposed ? transposed(matrix) : reorder(matrix, a.key_width(), /*to_pairs=*/true);
}

Matrix to_stored(Matrix matrix, Stored stored, const Architecture& a) {
  if (stored == Stored::alike) return matrix;
  return stored == Stored::transposed ? transposed(matrix) : reorder(matrix, a.key_width(), /*to_pairs=*/false);
}

}  // namespace sixfold
