// The head of a classifier, against PyTorch (tests/goldens/make_classifier_golden.py) and by finite
// differences.
#include <gtest/gtest.h>

#include "close.h"
#include "error_message.h"
#include "golden_file.h"
#include "model/gradient_check.h"

namespace sixfold {
namespace {

class ClassifierModel : public testing::TestWithParam<Pooling> {
 protected:
  ModelConfig config() const {
    const std::vector<int32_t> sizes = file_.ids("sizes");
    ModelConfig config;
    config.d_model = sizes[0], config.heads = sizes[1], config.d_ff = sizes[2];
    config.encoder_layers = sizes[3], config.decoder_layers = 0;
    config.source_vocab = config.target_vocab = sizes[4];
    config.dropout = 0;
    config.head = {OutputHead::classes, sizes[5], GetParam()};
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
    const std::vector<int32_t> ids = file_.ids("source"), labels = file_.ids("labels");
    const std::vector<double> weights = file_.matrix("label_weights").values;
    BatchBuilder builder;
    for (int i = 0; i < rows.sequences(); ++i) {
      builder.sample(i).source(std::span(ids).subspan(rows.begin(i), rows.length(i)));
      builder.label_sequence(labels[i], static_cast<float>(weights[i]));
    }
    return builder.take();
  }
  HostMatrix logits(const Transformer& model, const Batch& texts) const {
    Context context(model.backend(), std::make_shared<Arena>(model.backend()));
    return host_copy(ops::logits(context, model.head_input(texts, context), model.output()), *model.backend());
  }
  std::string pooling() const { return std::string(name_of_enum(GetParam())); }

  const GoldenFile file_{"classifier"};
};

TEST_P(ClassifierModel, AgreesWithPyTorch) {
  for (const auto& [machine, tolerance] :
       {std::pair(reference_f64(), 1e-9), std::pair(cpu(1), 1e-4), std::pair(cpu(2), 1e-4)}) {
    const auto loaded = load(machine);
    const Transformer& model = *loaded;
    expect_close(logits(model, batch()), file_.matrix(pooling() + "/logits"), tolerance, machine.name);
    Tape tape;
    Context context(machine.backend, std::make_shared<Arena>(machine.backend), tape, {.seed = 1, .update = 1});
    const double loss = model.loss(batch(), {}, context).item(*machine.backend);
    EXPECT_NEAR(loss, file_.number(pooling() + "/loss"), tolerance * 10);
    tape.backward();
    for (const Parameter& parameter : model.parameters()) {
      const std::string name = pooling() + "/grad/" + parameter.name;
      if (!file_.has(name)) continue;
      expect_close(host_copy(parameter.tensor.gradient(), *machine.backend), file_.matrix(name), tolerance * 10,
                   machine.name + ", " + name);
    }
  }
}

TEST_P(ClassifierModel, HasTheGradientsOfItsLoss) {
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

TEST_P(ClassifierModel, ATextHasTheSameLogitsInAnyBatch) {
  for (const Machine& machine : {reference_f32(), cpu(1), cpu(2)}) {
    const auto loaded = load(machine);
    const Transformer& model = *loaded;
    const HostMatrix all = logits(model, batch());
    const std::vector<Batch> single = split(batch(), 1);
    for (size_t i = 0; i < single.size(); ++i)
      EXPECT_TRUE(logits(model, single[i]) == all.slice_rows(static_cast<int64_t>(i), 1))
          << machine.name << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Poolings, ClassifierModel,
                         testing::Values(Pooling::first, Pooling::mean, Pooling::attention),
                         [](const auto& kind) { return std::string(name_of_enum(kind.param)); });

TEST(ClassifierConfig, IsChecked) {
  ModelConfig config = small_config();
  config.head = {OutputHead::classes, 2};
  EXPECT_EQ(error_message([&] { validate(config); }),
            "head.kind: 'classes' needs an encoder and no decoder (encoder_layers is 2, decoder_layers is 2)");
  config.decoder_layers = 0;
  EXPECT_NO_THROW(validate(config));
  config.head.classes = 1;
  EXPECT_EQ(error_message([&] { validate(config); }), "head.classes is 1, but a classifier needs at least 2");
  config.head.classes = 2;
  config.positions = Positions::learned;
  config.beyond_positions = BeyondPositions::error;
  EXPECT_NE(error_message([&] { validate(config); }).find("context_tokens is 0, but max_positions is 512"),
            std::string::npos);
}

/// The loss of a label of some rows is that of the whole, without the others.
TEST(LabelledRows, AreThoseThatCount) {
  ModelConfig config = small_config();
  config.decoder_layers = 0;
  const Machine machine = reference_f64();
  const Transformer model(config, machine.backend, machine.dtype, 1);
  const std::vector<int32_t> text{5, 6, 7, 8}, labels{1, 2, 3, 4};
  const auto loss = [&](const Batch& batch) {
    Context context(machine.backend, std::make_shared<Arena>(machine.backend));
    return model.loss(batch, {}, context).item(*machine.backend);
  };
  double sum = 0;
  for (int32_t i = 0; i < 4; ++i)
    sum += loss(
        BatchBuilder().source(text).label_tokens(std::span(&i, 1), std::span(labels).subspan(i, 1)).take());
  EXPECT_NEAR(sum, loss(BatchBuilder().source(text).label_source(labels).take()), 1e-9);
}

}  // namespace
}  // namespace sixfold
