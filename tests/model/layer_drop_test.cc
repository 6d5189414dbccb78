// Layers that an update leaves out, and the two passes of R-Drop.
#include <gtest/gtest.h>

#include "model/gradient_check.h"

namespace sixfold {
namespace {

constexpr Context::Seeds seeds_of(uint32_t update, double layer_drop) { return {3, update, layer_drop}; }

std::shared_ptr<Backend> reference() { return make_backend({.device = "reference"}); }

ModelConfig config_with(int layers) {
  ModelConfig config = small_config();
  config.d_model = 10, config.d_ff = 12, config.heads = 2, config.d_k = config.d_v = 4;
  config.encoder_layers = config.decoder_layers = layers;
  return config;
}

Batch some_pairs(const ModelConfig& config) {
  Batch pairs = random_pairs({{4, 5}, {1, 1}, {7, 3}}, config, 1);
  pairs.labels = random_pairs({{4, 5}, {1, 1}, {7, 3}}, config, 2).target.ids;
  return pairs;
}

std::vector<int> layers_left(const Context& context, AttentionKind stack, int layers) {
  std::vector<int> left;
  for (int i = 0; i < layers; ++i)
    if (!context.drops_layer(static_cast<uint32_t>(stack), static_cast<uint32_t>(i))) left.push_back(i);
  return left;
}

TEST(LayerDrop, LeavesOutTheShareThatIsAskedFor) {
  const auto backend = reference();
  const auto arena = std::make_shared<Arena>(backend);
  int64_t left = 0, together = 0;
  constexpr int updates = 4000;
  for (uint32_t update = 0; update < updates; ++update) {
    Tape tape;
    const Context context(backend, arena, tape, seeds_of(update, 0.25)),
        again(backend, arena, tape, seeds_of(update, 0.25));
    for (uint32_t layer = 0; layer < 2; ++layer) {
      left += context.drops_layer(0, layer);
      EXPECT_EQ(context.drops_layer(0, layer), again.drops_layer(0, layer));
      together += context.drops_layer(0, layer) && context.drops_layer(1, layer);
    }
    EXPECT_FALSE(Context(backend, arena, tape, seeds_of(update, 0)).drops_layer(0, 0));
  }
  EXPECT_NEAR(static_cast<double>(left) / (2 * updates), 0.25, 0.02);
  EXPECT_NEAR(static_cast<double>(together) / (2 * updates), 0.0625, 0.015) << "each stack draws its own";
  EXPECT_FALSE(Context(backend, arena).drops_layer(0, 0)) << "what decodes has all layers";
}

/// The loss and the gradients are those of a model that has only the layers that are left; the others get no
/// gradient.
TEST(LayerDrop, IsAModelWithFewerLayers) {
  const auto backend = reference();
  const auto arena = std::make_shared<Arena>(backend);
  const ModelConfig config = config_with(3);
  const Batch pairs = some_pairs(config);
  const Transformer model(config, backend, DType::f64, 1);
  int compared = 0;
  for (uint32_t update = 0; update < 12; ++update) {
    Tape tape, smaller_tape;
    for (const Parameter& parameter : model.parameters()) Tensor(parameter.tensor).set_gradient({});
    Context context(backend, arena, tape, seeds_of(update, 0.4));
    const std::vector<int> encoder = layers_left(context, AttentionKind::encoder, 3),
                           decoder = layers_left(context, AttentionKind::decoder, 3);
    const double loss = model.loss(pairs, {}, context).item(*backend);
    tape.backward();
    if (encoder.empty() || decoder.empty()) continue;
    ModelConfig fewer = config;
    fewer.encoder_layers = static_cast<int>(encoder.size()),
    fewer.decoder_layers = static_cast<int>(decoder.size());
    const Transformer smaller(fewer, backend, DType::f64, 2);
    const auto name_of = [&](const std::string& name) {  // of a weight of `smaller` in `model`
      for (const auto& [stack, left] : {std::pair("encoder", encoder), std::pair("decoder", decoder)})
        for (size_t i = 0; i < left.size(); ++i)
          if (const std::string own = fmt::format("{}.layers.{}.", stack, i); name.starts_with(own))
            return fmt::format("{}.layers.{}.{}", stack, left[i], name.substr(own.size()));
      return name;
    };
    for (const Parameter& parameter : smaller.parameters())
      Tensor(parameter.tensor)
          .copy_from(*backend, parameter_named(model, name_of(parameter.name)).to_doubles(*backend));
    Context of_smaller(backend, arena, smaller_tape, seeds_of(update, 0));
    EXPECT_EQ(smaller.loss(pairs, {}, of_smaller).item(*backend), loss);
    smaller_tape.backward();
    size_t with_gradient = 0;
    for (const Parameter& parameter : model.parameters()) with_gradient += parameter.tensor.gradient() ? 1 : 0;
    EXPECT_EQ(with_gradient, smaller.parameters().size());
    for (const Parameter& parameter : smaller.parameters())
      EXPECT_EQ(parameter_named(model, name_of(parameter.name)).gradient().to_doubles(*backend),
                parameter.tensor.gradient().to_doubles(*backend))
          << parameter.name;
    compared += encoder.size() + decoder.size() < 6;
  }
  EXPECT_GT(compared, 5);
}

/// A stack without layers gives its input, whatever follows the layers.
TEST(LayerDrop, MayLeaveOutAllLayers) {
  const auto backend = reference();
  const auto arena = std::make_shared<Arena>(backend);
  const auto encoded = [&](const std::vector<ProcessStep>& top) {
    ModelConfig config = config_with(2);
    config.postprocess_top = top;
    const Batch pairs = some_pairs(config);
    const Transformer model(config, backend, DType::f64, 1);
    Tape tape;
    Context context(backend, arena, tape, seeds_of(1, 1 - 1e-12));
    const TokenRows rows = context.token_rows(pairs.source.rows);
    auto values = host_copy(model.encode(pairs.source, rows, context), *backend).values;
    Tape whole;
    Context of_all(backend, arena, whole, seeds_of(1, 1 - 1e-12));
    model.loss(pairs, {}, of_all);
    whole.backward();
    return values;
  };
  const auto plain = encoded({});
  auto twice = plain;
  for (double& value : twice) value *= 2;
  EXPECT_EQ(encoded({ProcessStep::add}), twice);
  EXPECT_EQ(encoded({ProcessStep::add, ProcessStep::norm}).size(), plain.size());
}

/// Finite differences of the whole loss, with dropout that stays as it is and a layer that is left out.
TEST(RDrop, GradientsAreThoseOfBothPasses) {
  const auto backend = reference();
  const auto arena = std::make_shared<Arena>(backend);
  ModelConfig config = config_with(1);
  config.dropout = 0.2f;
  Batch pairs = some_pairs(config);
  pairs.label_weights = {1, 1, 1, 1, 1, 0.5f, 2, 2, 2};
  const Transformer model(config, backend, DType::f64, 1);
  const ops::LossOptions r_drop{.label_smoothing = 0.1, .r_drop = 3};
  const auto loss_of = [&](const ops::LossOptions& options, bool backward) {
    Tape tape;
    Context context(backend, arena, tape, seeds_of(5, 0));
    const double loss = model.loss(pairs, options, context).item(*backend);
    if (backward) tape.backward();
    return loss;
  };
  const double one = loss_of({.label_smoothing = 0.1}, false);
  for (const Parameter& parameter : model.parameters()) Tensor(parameter.tensor).set_gradient({});
  EXPECT_GT(loss_of(r_drop, true), 2 * one + 0.1);
  expect_gradients_of(
      model, [&] { return loss_of(r_drop, false); }, 1e-5);
}

/// Without dropout both passes are the same.
TEST(RDrop, CountsTwiceWithoutDropout) {
  const auto backend = reference();
  const ModelConfig config = config_with(2);
  const Batch pairs = some_pairs(config);
  const Transformer model(config, backend, DType::f64, 1);
  const auto loss_of = [&](double r_drop, double layer_drop) {
    Tape tape;
    Context context(backend, std::make_shared<Arena>(backend), tape, seeds_of(2, layer_drop));
    return model.loss(pairs, {.r_drop = r_drop}, context).item(*backend);
  };
  for (const double layer_drop : {0.0, 0.5})  // both passes leave out the same layers
    EXPECT_NEAR(loss_of(9, layer_drop), 2 * loss_of(0, layer_drop), 1e-9);
  EXPECT_NE(loss_of(9, 0.5), loss_of(9, 0));
}

}  // namespace
}  // namespace sixfold
