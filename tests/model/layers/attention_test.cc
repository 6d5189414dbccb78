// The attention weights that a model hands out.
#include <gtest/gtest.h>

#include <cmath>

#include "close.h"
#include "error_message.h"
#include "model/attention_weights.h"
#include "model/small_model.h"

namespace sixfold {
namespace {

using Weights = std::vector<std::vector<float>>;

Weights weights_of(const Transformer& model, const Batch& batch, AttentionKind kind, int layer) {
  Context context(model.backend(), std::make_shared<Arena>(model.backend()));
  return attention_weights(model, batch, kind, layer, context);
}

TEST(ModelAttention, IsADistributionOverTheKeysForEachHeadAndQuery) {
  const Transformer model(small_config(), make_backend({.threads = 2}), DType::f32, 1);
  const Batch batch = random_pairs(uneven_pairs(), model.config(), 1);
  const int heads = model.config().heads;
  for (const auto kind : {AttentionKind::encoder, AttentionKind::decoder, AttentionKind::cross})
    for (int layer = 0; layer < 2; ++layer) {
      const Weights weights = weights_of(model, batch, kind, layer);
      ASSERT_EQ(weights.size(), uneven_pairs().size());
      for (size_t i = 0; i < weights.size(); ++i) {
        const auto [source, target] = uneven_pairs()[i];
        const int queries = kind == AttentionKind::encoder ? source : target;
        const int keys = kind == AttentionKind::decoder ? target : source;
        ASSERT_EQ(weights[i].size(), static_cast<size_t>(heads * queries * keys));
        for (int row = 0; row < heads * queries; ++row) {
          double sum = 0;
          for (int j = 0; j < keys; ++j) {
            const float weight = weights[i][static_cast<size_t>(row * keys + j)];
            sum += weight;
            EXPECT_EQ(weight > 0, kind != AttentionKind::decoder || j <= row % queries);
          }
          EXPECT_NEAR(sum, 1, 1e-5);
        }
      }
    }
}

/// rows of x [n, in] times weight [out, in] transposed, plus bias.
HostMatrix linear_by_hand(const HostMatrix& x, const Transformer& model, const std::string& name) {
  const HostMatrix weight = host_copy(parameter_named(model, name + ".weight"), *model.backend()),
                   bias = host_copy(parameter_named(model, name + ".bias"), *model.backend());
  HostMatrix y{x.rows, weight.rows, {}};
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t o = 0; o < weight.rows; ++o) {
      double sum = bias.values[static_cast<size_t>(o)];
      for (int64_t i = 0; i < x.cols; ++i)
        sum +=
            x.values[static_cast<size_t>(r * x.cols + i)] * weight.values[static_cast<size_t>(o * x.cols + i)];
      y.values.push_back(sum);
    }
  return y;
}

/// The self-attention of the first layer over one sentence, computed from the formulas of the paper.
std::vector<double> first_layer_by_hand(const Transformer& model, const std::vector<int32_t>& ids,
                                        const std::string& attention, bool causal) {
  const ModelConfig& c = model.config();
  const HostMatrix table = host_copy(parameter_named(model, "shared.weight"), *model.backend());
  const auto n = static_cast<int64_t>(ids.size());
  HostMatrix x{n, c.d_model, {}};
  for (int64_t p = 0; p < n; ++p)
    for (int64_t i = 0; i < c.d_model; ++i)
      x.values.push_back(table.values[static_cast<size_t>(ids[static_cast<size_t>(p)] * c.d_model + i)] *
                             std::sqrt(static_cast<double>(c.d_model)) +
                         sinusoidal_position(p, i, c.d_model));
  const HostMatrix q = linear_by_hand(x, model, attention + ".q_proj"),
                   k = linear_by_hand(x, model, attention + ".k_proj");
  std::vector<double> weights;
  for (int head = 0; head < c.heads; ++head)
    for (int64_t row = 0; row < n; ++row) {
      std::vector<double> exponentials;
      double total = 0;
      for (int64_t j = 0; j < n; ++j) {
        double score = 0;
        for (int64_t f = head * c.d_k; f < (head + 1) * c.d_k; ++f)
          score +=
              q.values[static_cast<size_t>(row * q.cols + f)] * k.values[static_cast<size_t>(j * k.cols + f)];
        exponentials.push_back(causal && j > row ? 0 : std::exp(score / std::sqrt(static_cast<double>(c.d_k))));
        total += exponentials.back();
      }
      for (const double e : exponentials) weights.push_back(e / total);
    }
  return weights;
}

TEST(ModelAttention, OfTheFirstLayerIsTheFormulaOfThePaper) {
  const Transformer model(small_config(), make_backend({.device = "reference"}), DType::f64, 1);
  const Batch batch = random_pairs({{4, 3}, {2, 6}}, model.config(), 2);
  const Weights encoder = weights_of(model, batch, AttentionKind::encoder, 0),
                decoder = weights_of(model, batch, AttentionKind::decoder, 0);
  for (int i = 0; i < 2; ++i) {
    const auto source =
        first_layer_by_hand(model, ids_of(batch.source, i), "encoder.layers.0.self_attn", /*causal=*/false);
    const auto target =
        first_layer_by_hand(model, ids_of(batch.target, i), "decoder.layers.0.self_attn", /*causal=*/true);
    ASSERT_EQ(encoder[static_cast<size_t>(i)].size(), source.size());
    ASSERT_EQ(decoder[static_cast<size_t>(i)].size(), target.size());
    for (size_t j = 0; j < source.size(); ++j) EXPECT_NEAR(encoder[static_cast<size_t>(i)][j], source[j], 1e-6);
    for (size_t j = 0; j < target.size(); ++j) EXPECT_NEAR(decoder[static_cast<size_t>(i)][j], target[j], 1e-6);
  }
}

// Without a query no key is better than another.
TEST(ModelAttention, AcrossIsEvenWhereQueriesAreZero) {
  const Transformer model(small_config(), make_backend(), DType::f32, 1);
  for (const char* part : {"weight", "bias"})
    model.backend()->run(kernel::Fill{
        parameter_named(model, std::string("decoder.layers.1.encoder_attn.q_proj.") + part).view(), 0});
  const Batch batch = random_pairs({{4, 3}, {7, 2}}, model.config(), 3);
  const Weights even = weights_of(model, batch, AttentionKind::cross, 1),
                other = weights_of(model, batch, AttentionKind::cross, 0);
  for (const size_t i : {0, 1})
    for (const float weight : even[i]) EXPECT_NEAR(weight, i == 0 ? 1.0 / 4 : 1.0 / 7, 1e-6);
  EXPECT_NE(other[0][0], other[0][1]);
}

TEST(ModelAttention, AgreesBetweenBackends) {
  for (const auto kind : {AttentionKind::encoder, AttentionKind::decoder, AttentionKind::cross}) {
    const auto weights = [&](const Machine& machine) {
      const Transformer model(small_config(), machine.backend, machine.dtype, 1);
      return weights_of(model, random_pairs(uneven_pairs(), model.config(), 4), kind, 1);
    };
    const Weights exact = weights(reference_f64()), one = weights(cpu(1));
    for (size_t i = 0; i < exact.size(); ++i)
      for (size_t j = 0; j < exact[i].size(); ++j) ASSERT_NEAR(one[i][j], exact[i][j], 1e-5);
    EXPECT_EQ(weights(cpu(2)), one);
  }
}

TEST(ModelAttention, RefusesALayerThatIsNotThere) {
  const Transformer model(small_config(), make_backend(), DType::f32, 1);
  const Batch batch = random_pairs({{4, 3}}, model.config(), 5);
  for (const int layer : {-1, 2}) {
    const auto message = error_message([&] { weights_of(model, batch, AttentionKind::cross, layer); });
    EXPECT_NE(message.find("layers 0 to 1"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace sixfold
