// A decoder of text over an encoder of patches: gradients by finite differences, decoding token by token, and
// the whole against PyTorch.
#include <gtest/gtest.h>

#include "close.h"
#include "data/patches.h"
#include "error_message.h"
#include "golden_file.h"
#include "model/gradient_check.h"
#include "runtime/search.h"
#include "search/scoring.h"

namespace sixfold {
namespace {

/// A model of captions of images of 4 x 6 pixels with 3 channels, in overlapping patches of 4, every second
/// pixel.
ModelConfig caption_config(Positions positions) {
  ModelConfig config = small_config();
  config.image = {.height = 4, .width = 6, .channels = 3, .patch = 4, .stride = 2};
  config.source_vocab = ModelConfig::pixel_values;
  config.tied_embeddings = TiedEmbeddings::decoder;
  config.positions = positions;
  config.generation.length_factor = 0;
  config.generation.length_offset = 12;
  return config;
}

/// The values of the patches of image n.
std::vector<int32_t> patches(int n) {
  std::vector<int32_t> values;
  for (int i = 0; i < 2 * 48; ++i) values.push_back((i * (7 + 5 * n) + 31 * n) % 256);
  return values;
}

Batch caption_batch() {
  BatchBuilder builder;
  for (int n = 0; n < 3; ++n) {
    const std::vector<int32_t> caption(static_cast<size_t>(n + 1), 5 + n);
    builder.sample(n).source(patches(n), 48).teacher_forced(caption, {-1, 2});
  }
  return builder.take();
}

class CaptionModel : public testing::TestWithParam<Positions> {};

TEST_P(CaptionModel, HasTheGradientsOfItsLoss) {
  const Machine machine = reference_f64();
  const Transformer model(caption_config(GetParam()), machine.backend, machine.dtype, 1);
  Tape tape;
  const auto arena = std::make_shared<Arena>(machine.backend);
  Context context(machine.backend, arena, tape, {.seed = 1, .update = 1});
  model.loss(caption_batch(), {.label_smoothing = 0.1f}, context);
  tape.backward();
  expect_gradients_of(
      model,
      [&] {
        Context plain(machine.backend, arena);
        return model.loss(caption_batch(), {.label_smoothing = 0.1f}, plain).item(*machine.backend);
      },
      3e-6);
}

TEST_P(CaptionModel, AnImageHasTheSameStatesInAnyBatch) {
  for (const Machine& machine : {reference_f32(), cpu(1), cpu(2)}) {
    const Transformer model(caption_config(GetParam()), machine.backend, machine.dtype, 1);
    const HostMatrix all = states_of(model, caption_batch());
    int64_t row = 0;
    for (const Batch& one : split(caption_batch(), 1)) {
      const HostMatrix alone = states_of(model, one);
      EXPECT_TRUE(alone == all.slice_rows(row, alone.rows)) << machine.name;
      row += alone.rows;
    }
    EXPECT_EQ(row, all.rows);
  }
}

/// The search decodes token by token, in batches of requests; scoring reads the whole target at once.
TEST_P(CaptionModel, SearchFindsWhatScoringGives) {
  const Machine machine = cpu(1);
  Transformer model(caption_config(GetParam()), machine.backend, machine.dtype, 1);
  model.pack();
  std::vector<std::vector<int32_t>> sources;
  for (int n = 0; n < 9; ++n) sources.push_back(patches(n));
  const DecodeWorkspace decoding(model);
  for (const int beam : {1, 3}) {
    SearchOptions options{.rules = model.config().generation};
    options.rules.beam_size = beam;
    const auto found_in = [&](int64_t batch_tokens) {
      options.batch_tokens = batch_tokens;
      std::vector<Hypothesis> found(sources.size());
      search(decoding, sources, options,
             [&](size_t i, std::vector<Hypothesis> best) { found[i] = std::move(best[0]); });
      return found;
    };
    const std::vector<Hypothesis> together = found_in(4096), alone = found_in(1);
    std::vector<std::vector<int32_t>> targets;
    for (size_t i = 0; i < sources.size(); ++i) {
      EXPECT_EQ(together[i].ids, alone[i].ids);
      EXPECT_EQ(together[i].log_probability, alone[i].log_probability);
      EXPECT_LE(together[i].ids.size(), 11u) << "longer than the patches allow";
      targets.push_back(together[i].ids);
    }
    const auto scores = score_targets(decoding, sources, targets, 20);
    for (size_t i = 0; i < sources.size(); ++i) {
      double sum = 0;
      for (const double score : scores[i]) sum += score;
      EXPECT_NEAR(sum, together[i].log_probability, 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Positions, CaptionModel,
                         testing::Values(Positions::learned, Positions::sinusoidal, Positions::rotary),
                         [](const auto& kind) { return std::string(name_of_enum(kind.param)); });

TEST(CaptionModelConfig, IsChecked) {
  ModelConfig config = caption_config(Positions::learned);
  const auto expect = [&](std::string_view text) {
    const std::string said = error_message([&] { validate(config); });
    EXPECT_NE(said.find(text), std::string::npos) << said;
    config = caption_config(Positions::learned);
  };
  EXPECT_NO_THROW(validate(config));
  EXPECT_TRUE(config.reads_images() && config.has_decoder());
  config.target_vocab = 17;  // that of the source is another
  EXPECT_NO_THROW(validate(config));
  for (const TiedEmbeddings tied : {TiedEmbeddings::all, TiedEmbeddings::source}) {
    config.tied_embeddings = tied;
    expect("images have no tokens; choose 'decoder' or 'none'");
  }
  config.decoder_layers = 0;
  expect("must have head.kind 'classes' or a decoder");
  config.encoder_layers = 0;
  expect("encoder_layers is 0");
  config.max_positions = 1;
  expect("max_positions is 1, but an image has 2 patches");
}

TEST(CaptionModelConfig, ModelsSayWhatTheyAreFor) {
  ModelConfig config = small_config();
  config.task = "translation";
  EXPECT_NO_THROW(require_task(config, {.task = "translation"}, "folder"));
  EXPECT_EQ(error_message([&] { require_task(config, {.task = "classification"}, "folder"); }),
            "folder: is a model for the task 'translation', not 'classification'; 'sixfold info folder' says "
            "what it can do");
  expect_holds(error_message([&] {
                 require_task(config, {.task = "translation", .head = OutputHead::classes}, "folder");
               }),
               "its network is not that of such a model");
}

ModelConfig golden_config(const std::vector<int32_t>& sizes) {
  ModelConfig config;
  config.d_model = sizes[0], config.heads = sizes[1], config.d_ff = sizes[2];
  config.encoder_layers = config.decoder_layers = sizes[3];
  config.image = {
      .height = sizes[5], .width = sizes[6], .channels = sizes[7], .patch = sizes[8], .stride = sizes[9]};
  config.source_vocab = ModelConfig::pixel_values, config.target_vocab = sizes[4];
  config.tied_embeddings = TiedEmbeddings::decoder;
  config.positions = Positions::learned, config.max_positions = sizes[10];
  config.activation = Activation::gelu;
  config.preprocess = {ProcessStep::norm}, config.postprocess = {ProcessStep::dropout, ProcessStep::add};
  config.postprocess_top = {ProcessStep::norm};
  config.dropout = 0;
  validate(config);
  return config;
}

/// The images and captions of the golden file.
Batch golden_batch(const GoldenFile& file, const ImageInput& input) {
  const ImageSize size{input.height, input.width, input.channels};
  const auto values = static_cast<size_t>(size.values());
  const std::vector<int32_t> pixels = file.ids("pixels"), captions = file.ids("captions");
  const Ragged rows = file.ragged("offsets");
  BatchBuilder builder;
  for (int i = 0; i < rows.sequences(); ++i) {
    const auto own = std::span(pixels).subspan(static_cast<size_t>(i) * values, values);
    const Image image{.size = size, .values = std::vector<uint8_t>(own.begin(), own.end())};
    const auto caption =
        std::span(captions).subspan(static_cast<size_t>(rows.begin(i)), static_cast<size_t>(rows.length(i)));
    builder.sample(i)
        .source(patches_of(image, input.patch, input.step()), input.patch_values())
        .teacher_forced(caption, {ModelConfig::zero_start, 2});
  }
  return builder.take();
}

/// PyTorch's own layers with the same weights (tests/goldens/make_caption_golden.py).
TEST(CaptionModelGolden, AgreesWithPyTorch) {
  const GoldenFile file("captioner");
  const ModelConfig config = golden_config(file.ids("sizes"));
  const Batch batch = golden_batch(file, config.image);
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
    EXPECT_NEAR(model.loss(batch, {}, context).item(*machine.backend), file.number("loss"), tolerance * 10);
    tape.backward();
    int compared = 0;
    for (const Parameter& parameter : model.parameters())
      if (const std::string name = "grad/" + parameter.name; file.has(name)) {
        expect_close(host_copy(parameter.tensor.gradient(), *machine.backend), file.matrix(name),
                     tolerance * 10, machine.name + ", " + name);
        ++compared;
      }
    EXPECT_EQ(compared, 4);
  }
}

}  // namespace
}  // namespace sixfold
