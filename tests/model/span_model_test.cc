// A model that answers questions, against PyTorch (tests/goldens/make_span_golden.py) and by finite
// differences.
#include <gtest/gtest.h>

#include "close.h"
#include "error_message.h"
#include "golden_file.h"
#include "model/gradient_check.h"

namespace sixfold {
namespace {

class SpanModel : public testing::Test {
 protected:
  ModelConfig config() const {
    const std::vector<int32_t> sizes = file_.ids("sizes");
    ModelConfig config;
    config.d_model = sizes[0], config.heads = sizes[1], config.d_ff = sizes[2];
    config.encoder_layers = sizes[3], config.decoder_layers = 0;
    config.source_vocab = config.target_vocab = sizes[4];
    config.dropout = 0;
    config.head.kind = OutputHead::span;
    config.context_tokens = 9;
    return config;
  }
  std::unique_ptr<const Transformer> load(const Machine& machine) const {
    auto model = std::make_unique<Transformer>(config(), machine.backend, machine.dtype, 1);
    for (Parameter& parameter : model->parameters())
      parameter.tensor.copy_from(*machine.backend, file_.matrix(parameter.name).values);
    return model;
  }
  Batch batch() const {
    const Ragged rows = file_.ragged("offsets");
    const std::vector<int32_t> ids = file_.ids("source"), labels = file_.ids("labels"),
                               choices = file_.ids("choices");
    BatchBuilder builder;
    for (int i = 0; i < rows.sequences(); ++i) {
      const auto at = 2 * static_cast<size_t>(i);
      const int begin = rows.begin(i);
      builder.sample(i).source(
          std::span(ids).subspan(static_cast<size_t>(begin), static_cast<size_t>(rows.length(i))));
      builder.choose({choices[at] - begin, choices[at + 1] - begin}, std::span(labels).subspan(at, 2));
    }
    return builder.take();
  }
  static HostMatrix logits(const Transformer& model, const Batch& texts) {
    Context context(model.backend(), std::make_shared<Arena>(model.backend()));
    return host_copy(ops::logits(context, model.head_input(texts, context), model.output()), *model.backend());
  }

  const GoldenFile file_{"span"};
};

TEST_F(SpanModel, AgreesWithPyTorch) {
  for (const auto& [machine, tolerance] :
       {std::pair(reference_f64(), 1e-9), std::pair(cpu(1), 1e-4), std::pair(cpu(2), 1e-4)}) {
    const auto loaded = load(machine);
    const Transformer& model = *loaded;
    expect_close(logits(model, batch()), file_.matrix("logits"), tolerance, machine.name);
    Tape tape;
    Context context(machine.backend, std::make_shared<Arena>(machine.backend), tape, {.seed = 1, .update = 1});
    const double loss = model.loss(batch(), {.label_smoothing = 0.1f}, context).item(*machine.backend);
    EXPECT_NEAR(loss, file_.number("loss"), tolerance * 10);
    tape.backward();
    int compared = 0;
    for (const Parameter& parameter : model.parameters()) {
      const std::string name = "grad/" + parameter.name;
      if (!file_.has(name)) continue;
      ++compared;
      expect_close(host_copy(parameter.tensor.gradient(), *machine.backend), file_.matrix(name), tolerance * 10,
                   machine.name + ", " + name);
    }
    EXPECT_EQ(compared, 2);
  }
}

TEST_F(SpanModel, HasTheGradientsOfItsLoss) {
  const Machine machine = reference_f64();
  const auto loaded = load(machine);
  const Transformer& model = *loaded;
  const auto loss = [&](Context& context) { return model.loss(batch(), {.label_smoothing = 0.1}, context); };
  Tape tape;
  const auto arena = std::make_shared<Arena>(machine.backend);
  Context context(machine.backend, arena, tape, {.seed = 1, .update = 1});
  loss(context);
  tape.backward();
  expect_gradients_of(
      model,
      [&] {
        Context plain(machine.backend, arena);
        return loss(plain).item(*machine.backend);
      },
      1e-6);
}

TEST_F(SpanModel, ATextHasTheSameScoresInAnyBatch) {
  const Ragged rows = file_.ragged("offsets");
  for (const Machine& machine : {reference_f32(), cpu(1), cpu(2)}) {
    const auto loaded = load(machine);
    const HostMatrix all = logits(*loaded, batch());
    const std::vector<Batch> single = split(batch(), 1);
    ASSERT_EQ(single.size(), 3u);
    for (int i = 0; i < rows.sequences(); ++i)
      EXPECT_TRUE(logits(*loaded, single[static_cast<size_t>(i)]) ==
                  all.slice_rows(rows.begin(i), rows.length(i)))
          << machine.name << " " << i;
  }
}

TEST(SpanConfig, IsChecked) {
  ModelConfig config = small_config();
  config.head.kind = OutputHead::span, config.context_tokens = 20;
  EXPECT_EQ(error_message([&] { validate(config); }),
            "head.kind: 'span' needs an encoder and no decoder (encoder_layers is 2, decoder_layers is 2)");
  config.decoder_layers = 0;
  EXPECT_NO_THROW(validate(config));
  config.context_tokens = 7;
  EXPECT_EQ(error_message([&] { validate(config); }),
            "context_tokens is 7; a model that answers questions must read at least 8 at once");
  config.context_tokens = 513;
  config.positions = Positions::learned;
  config.beyond_positions = BeyondPositions::error;
  EXPECT_EQ(error_message([&] { validate(config); }),
            "context_tokens is 513, but max_positions is 512; each token needs a position");
  config = small_config();
  config.decoder_layers = 0, config.head.kind = OutputHead::span, config.context_tokens = 20;
  config.image = {.height = 4, .width = 4, .channels = 1, .patch = 2};
  EXPECT_NE(error_message([&] { validate(config); }).find("head.kind: 'span' finds answers in texts"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
