// A model that reads images: its patches, its gradients by finite differences, and the whole against PyTorch.
#include <gtest/gtest.h>

#include "close.h"
#include "data/patches.h"
#include "error_message.h"
#include "golden_file.h"
#include "model/gradient_check.h"
#include "model/layers/patch_embedding.h"

namespace sixfold {
namespace {

/// A classifier of images of 4 x 6 pixels with 3 channels, in overlapping patches of 4, every second pixel, and
/// whether it has a class token.
class ImageModel : public testing::TestWithParam<std::tuple<Positions, bool>> {
 protected:
  static ModelConfig config() {
    ModelConfig config = small_config();
    config.decoder_layers = 0;
    config.image = {.height = 4, .width = 6, .channels = 3, .patch = 4, .stride = 2};
    config.source_vocab = 256;
    config.head = {OutputHead::classes, 3, Pooling::attention};
    config.positions = std::get<0>(GetParam());
    if (std::get<1>(GetParam())) {
      config.head.pooling = Pooling::first;
      config.image.class_token = true;
      config.image.mean = {0.4f, 0.5f, 0.6f}, config.image.std = {0.3f};
    }
    config.dropout = 0;
    return config;
  }
  /// `before`: the values of the row of the class token, which are not read.
  static Batch batch(int32_t before = 0) {
    BatchBuilder builder;
    for (int image = 0; image < 3; ++image) {
      std::vector<int32_t> values(std::get<1>(GetParam()) ? 48 : 0, before);
      for (int i = 0; i < 2 * 48; ++i) values.push_back((i * (7 + 5 * image) + 31 * image) % 256);
      builder.sample(image).source(values, 48).label_sequence(image);
    }
    return builder.take();
  }
};

TEST_P(ImageModel, HasTheGradientsOfItsLoss) {
  const Machine machine = reference_f64();
  const Transformer model(config(), machine.backend, machine.dtype, 1);
  Tape tape;
  const auto arena = std::make_shared<Arena>(machine.backend);
  Context context(machine.backend, arena, tape, {.seed = 1, .update = 1});
  model.loss(batch(), {}, context);
  tape.backward();
  expect_gradients_of(
      model,
      [&] {
        Context plain(machine.backend, arena);
        return model.loss(batch(), {}, plain).item(*machine.backend);
      },
      1e-6);
}

/// The embedding of a patch is the linear map of its pixels, scaled to -1 to 1, with its position.
TEST_P(ImageModel, EmbedsPatchesAsInTheFormula) {
  const Machine machine = reference_f64();
  ParameterBuilder builder(machine.backend, machine.dtype, 1);
  const ModelConfig c = config();
  const PatchEmbedding embedding(builder, c.image, c.d_model);
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  const Batch images = batch();
  const HostMatrix got = host_copy(
      embedding(images.source.ids, context.token_rows(images.source.rows), context), *machine.backend);
  const std::vector<Parameter> parameters = builder.take_parameters();
  const std::vector<double> weight = parameters[0].tensor.to_doubles(*machine.backend),
                            token = parameters.back().tensor.to_doubles(*machine.backend);
  for (int64_t row = 0; row < got.rows; ++row)
    for (int64_t feature = 0; feature < got.cols; ++feature) {
      double sum = 0;
      for (int64_t i = 0; i < 48; ++i) {
        const double x = images.source.ids[static_cast<size_t>(row * 48 + i)] / 255.0,
                     mean = c.image.mean[c.image.mean.size() == 1 ? 0 : static_cast<size_t>(i % 3)];
        sum += weight[static_cast<size_t>(feature * 48 + i)] * (x - mean) / static_cast<double>(c.image.std[0]);
      }
      if (c.image.class_token && row % 3 == 0) sum = token[static_cast<size_t>(feature)];
      EXPECT_NEAR(got.values[static_cast<size_t>(row * got.cols + feature)], sum, 1e-5);
    }
}

TEST_P(ImageModel, AnImageHasTheSameStatesInAnyBatch) {
  for (const Machine& machine : {reference_f32(), cpu(1), cpu(2)}) {
    const Transformer model(config(), machine.backend, machine.dtype, 1);
    const auto states = [&](const Batch& images) {
      Context context(machine.backend, std::make_shared<Arena>(machine.backend));
      return host_copy(model.head_input(images, context), *machine.backend);
    };
    const HostMatrix all = states(batch());
    const std::vector<Batch> single = split(batch(), 1);
    ASSERT_EQ(single.size(), 3u);
    for (size_t i = 0; i < single.size(); ++i)
      EXPECT_TRUE(states(single[i]) == all.slice_rows(static_cast<int64_t>(i), 1)) << machine.name << " " << i;
  }
}

TEST_P(ImageModel, DoesNotReadTheValuesOfTheClassToken) {
  const Machine machine = reference_f32();
  const Transformer model(config(), machine.backend, machine.dtype, 1);
  const auto states = [&](const Batch& images) {
    Context context(machine.backend, std::make_shared<Arena>(machine.backend));
    return host_copy(model.head_input(images, context), *machine.backend);
  };
  EXPECT_TRUE(states(batch(0)) == states(batch(255)));
}

INSTANTIATE_TEST_SUITE_P(Positions, ImageModel,
                         testing::Combine(testing::Values(Positions::learned, Positions::sinusoidal,
                                                          Positions::rotary),
                                          testing::Bool()),
                         [](const auto& kind) {
                           return std::string(name_of_enum(std::get<0>(kind.param))) +
                                  (std::get<1>(kind.param) ? "_and_class_token" : "");
                         });

TEST(ImageModelConfig, IsChecked) {
  ModelConfig config = small_config();
  config.image = {.height = 8, .width = 8};
  const auto expect = [&](std::string_view text) {
    const std::string said = error_message([&] { validate(config); });
    EXPECT_NE(said.find(text), std::string::npos) << said;
  };
  expect("tied_embeddings: 'all' ties the embedding of the source");
  config.decoder_layers = 0;
  expect("must have head.kind 'classes' or a decoder");
  config.head = {OutputHead::classes, 2};
  expect("images have no first token");
  config.head.pooling = Pooling::mean;
  EXPECT_NO_THROW(validate(config));
  config.image.patch = 3;
  expect("do not cover images of 8 x 8 pixels exactly");
  config.image.patch = 2, config.image.stride = 3;
  expect("image.stride");
  config.image.stride = 0, config.image.channels = 2;
  expect("image.channels is 2");
  config.image.channels = 1, config.positions = Positions::learned, config.max_positions = 15;
  expect("max_positions is 15, but an image has 16 patches");
  config.image.class_token = true, config.max_positions = 16;
  expect("max_positions is 16, but an image has 16 patches and a class token");
  config.max_positions = 17, config.head.pooling = Pooling::first;
  EXPECT_NO_THROW(validate(config));
  config.image.mean = {0.1f, 0.2f};
  expect("image.mean: has 2 numbers; expected one, or one for each of the 1 channels");
  config.image.mean = {0.1f}, config.image.std = {};
  expect("image.std: has 0 numbers");
  config.image.std = {0};
  expect("image.std");
}

/// PyTorch's own layers with the same weights (tests/goldens/make_image_golden.py).
TEST(ImageModelGolden, AgreesWithPyTorch) {
  const GoldenFile file("image_classifier");
  const std::vector<int32_t> sizes = file.ids("sizes"), pixels = file.ids("pixels"),
                             labels = file.ids("labels");
  ModelConfig config;
  config.d_model = sizes[0], config.heads = sizes[1], config.d_ff = sizes[2];
  config.encoder_layers = sizes[3], config.decoder_layers = 0;
  config.image = {
      .height = sizes[5], .width = sizes[6], .channels = sizes[7], .patch = sizes[8], .stride = sizes[9]};
  config.source_vocab = config.target_vocab = 256;
  config.head = {OutputHead::classes, sizes[4], Pooling::mean};
  config.positions = Positions::learned, config.max_positions = config.image.patches();
  config.activation = Activation::gelu;
  config.preprocess = {ProcessStep::norm}, config.postprocess = {ProcessStep::dropout, ProcessStep::add};
  config.postprocess_top = {ProcessStep::norm};
  config.dropout = 0;
  validate(config);

  BatchBuilder builder;
  const ImageSize size{config.image.height, config.image.width, config.image.channels};
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto own =
        std::span(pixels).subspan(i * static_cast<size_t>(size.values()), static_cast<size_t>(size.values()));
    const Image image{.size = size, .values = std::vector<uint8_t>(own.begin(), own.end())};
    builder.sample(static_cast<int32_t>(i))
        .source(patches_of(image, config.image.patch, config.image.step()), config.image.patch_values());
    builder.label_sequence(labels[i]);
  }
  const Batch batch = builder.take();
  for (const auto& [machine, tolerance] :
       {std::pair(reference_f64(), 1e-6), std::pair(cpu(1), 1e-4), std::pair(cpu(2), 1e-4)}) {
    const Transformer model(config, machine.backend, machine.dtype, 1);
    for (Parameter parameter : model.parameters())
      parameter.tensor.copy_from(*machine.backend, file.matrix(parameter.name).values);
    Tape tape;
    Context context(machine.backend, std::make_shared<Arena>(machine.backend), tape, {.seed = 1, .update = 1});
    const Tensor states = model.head_input(batch, context);
    expect_close(host_copy(ops::logits(context, states, model.output()), *machine.backend),
                 file.matrix("logits"), tolerance, machine.name);
    const double loss = model.loss(batch, {}, context).item(*machine.backend);
    EXPECT_NEAR(loss, file.number("loss"), tolerance * 10);
    tape.backward();
    for (const Parameter& parameter : model.parameters())
      if (const std::string name = "grad/" + parameter.name; file.has(name))
        expect_close(host_copy(parameter.tensor.gradient(), *machine.backend), file.matrix(name),
                     tolerance * 10, machine.name + ", " + name);
  }
}

}  // namespace
}  // namespace sixfold
