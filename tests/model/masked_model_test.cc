// A masked language model, an encoder that predicts some of its tokens, against PyTorch
// (tests/goldens/make_masked_golden.py).
#include <gtest/gtest.h>

#include "close.h"
#include "golden_file.h"
#include "model/gradient_check.h"

namespace sixfold {
namespace {

TEST(MaskedModel, AgreesWithPyTorch) {
  const GoldenFile file{"masked"};
  const std::vector<int32_t> sizes = file.ids("sizes"), ids = file.ids("source"), labels = file.ids("labels"),
                             label_rows = file.ids("label_rows");
  ModelConfig config;
  config.d_model = sizes[0], config.heads = sizes[1], config.d_ff = sizes[2];
  config.encoder_layers = sizes[3], config.decoder_layers = 0;
  config.source_vocab = config.target_vocab = sizes[4];
  config.dropout = 0;
  const Ragged rows = file.ragged("offsets");
  BatchBuilder builder;
  size_t label = 0;
  for (int i = 0; i < rows.sequences(); ++i) {
    builder.sample(i).source(std::span(ids).subspan(rows.begin(i), rows.length(i)));
    for (; label < labels.size() && label_rows[label] < rows.begin(i) + rows.length(i); ++label) {
      const int32_t place = label_rows[label] - rows.begin(i);
      builder.label_tokens(std::span(&place, 1), std::span(labels).subspan(label, 1));
    }
  }
  const Batch batch = builder.take();
  EXPECT_EQ(batch.label_rows, label_rows);
  for (const auto& [machine, tolerance] :
       {std::pair(reference_f64(), 1e-9), std::pair(cpu(1), 1e-4), std::pair(cpu(2), 1e-4)}) {
    Transformer model(config, machine.backend, machine.dtype, 1);
    for (Parameter& parameter : model.parameters())
      parameter.tensor.copy_from(*machine.backend, file.matrix(parameter.name).values);
    Context plain(machine.backend, std::make_shared<Arena>(machine.backend));
    expect_close(
        host_copy(ops::logits(plain, model.head_input(batch, plain), model.output()), *machine.backend),
        file.matrix("logits"), tolerance * 10, machine.name);
    Tape tape;
    Context context(machine.backend, std::make_shared<Arena>(machine.backend), tape, {.seed = 1, .update = 1});
    EXPECT_NEAR(model.loss(batch, {}, context).item(*machine.backend), file.number("loss"), tolerance * 100);
    tape.backward();
    for (const Parameter& parameter : model.parameters())
      if (const std::string name = "grad/" + parameter.name; file.has(name))
        expect_close(host_copy(parameter.tensor.gradient(), *machine.backend), file.matrix(name),
                     tolerance * 100, machine.name + ", " + name);
  }
}

}  // namespace
}  // namespace sixfold
