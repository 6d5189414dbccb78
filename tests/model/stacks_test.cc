// Models of one stack: an encoder alone, a decoder alone; and models of which parts are frozen.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "close.h"
#include "error_message.h"
#include "model/attention_weights.h"
#include "model/decoding_state.h"
#include "model/gradient_check.h"
#include "model/parameter_formula.h"
#include "model/small_model.h"
#include "runtime/search.h"

namespace sixfold {
namespace {

/// One stack and what its output is tied to.
struct Shape {
  std::string name;
  int encoder_layers, decoder_layers;
  TiedEmbeddings tied;
};

class OneStack : public testing::TestWithParam<Shape> {
 protected:
  ModelConfig config() const {
    ModelConfig config = small_config();
    config.encoder_layers = GetParam().encoder_layers;
    config.decoder_layers = GetParam().decoder_layers;
    config.tied_embeddings = GetParam().tied;
    config.output_bias = true;
    if (config.encoder_layers > 0 && config.tied_embeddings != TiedEmbeddings::all) config.target_vocab = 11;
    return config;
  }
  /// Random ids, a label for each row.
  Batch batch() const {
    const Batch pairs = random_pairs({{5, 5}, {1, 1}, {9, 9}}, config(), 3);
    Batch batch{.source = {}, .target = {}, .labels = {}, .samples = pairs.samples};
    (config().encoder_layers > 0 ? batch.source : batch.target) =
        config().encoder_layers > 0 ? pairs.source : pairs.target;
    for (int i = 0; i < 15; ++i) batch.labels.push_back(7 * i % 11);
    return batch;
  }
};

INSTANTIATE_TEST_SUITE_P(Shapes, OneStack,
                         testing::Values(Shape{"encoder_tied", 2, 0, TiedEmbeddings::all},
                                         Shape{"encoder_untied", 2, 0, TiedEmbeddings::none},
                                         Shape{"decoder_tied", 0, 2, TiedEmbeddings::all},
                                         Shape{"decoder_tied_to_output", 0, 2, TiedEmbeddings::decoder},
                                         Shape{"decoder_untied", 0, 2, TiedEmbeddings::none}),
                         [](const auto& shape) { return shape.param.name; });

TEST_P(OneStack, HasTheWeightsOfTheFormulaAndNoneOfTheOther) {
  const Transformer model(config(), make_backend({.device = "reference"}), DType::f32, 1);
  int64_t count = 0;
  for (const Parameter& parameter : model.parameters()) {
    count += parameter.tensor.size();
    EXPECT_FALSE(parameter.name.starts_with(GetParam().encoder_layers > 0 ? "decoder." : "encoder."))
        << parameter.name;
    EXPECT_EQ(parameter.name.find("encoder_attn"), std::string::npos) << parameter.name;
  }
  EXPECT_EQ(count, parameters_by_formula(config()));
  EXPECT_EQ(count, parameter_count(config()));
}

TEST_P(OneStack, GradientsAreThoseOfFiniteDifferences) {
  const Machine machine = reference_f64();
  Transformer model(config(), machine.backend, machine.dtype, 2);
  const auto arena = std::make_shared<Arena>(machine.backend);
  const Batch samples = batch();
  const auto loss = [&] {
    Context context(machine.backend, arena);
    return model.loss(samples, {.label_smoothing = 0.1}, context).item(*machine.backend);
  };
  {
    Tape tape;
    Context context(machine.backend, arena, tape, {});
    model.loss(samples, {.label_smoothing = 0.1}, context);
    tape.backward();
  }
  expect_gradients_of(model, loss, 1e-6);
}

/// An encoder's token sees all of its sequence, a decoder's those up to itself.
TEST_P(OneStack, SeesWhatItsColumnOfTheFigureSees) {
  const Transformer model(config(), cpu(2).backend, DType::f32, 3);
  const Batch samples = batch();
  Batch changed = samples;
  const bool encoder = GetParam().encoder_layers > 0;
  auto& ids = encoder ? changed.source.ids : changed.target.ids;
  ids[4] = (ids[4] + 1) % 11;  // the last of the first sequence
  const HostMatrix before = states_of(model, samples), after = states_of(model, changed);
  ASSERT_EQ(before.rows, 15);
  for (int row = 0; row < 15; ++row)
    EXPECT_EQ(before.slice_rows(row, 1) == after.slice_rows(row, 1), row > 4 || (!encoder && row < 4)) << row;
}

TEST_P(OneStack, IsTheSameOnTheCpuPackedOrNot) {
  const Batch samples = batch();
  Transformer model(config(), cpu(2).backend, DType::f32, 3);
  const HostMatrix plain = states_of(model, samples);
  expect_close(plain,
               states_of(Transformer(config(), make_backend({.device = "reference"}), DType::f64, 3), samples),
               1e-5, "states");
  model.pack();
  EXPECT_TRUE(states_of(model, samples) == plain);
}

TEST_P(OneStack, ShowsItsAttentionAndHasNoOther) {
  const Transformer model(config(), cpu(1).backend, DType::f32, 3);
  const bool encoder = GetParam().encoder_layers > 0;
  const AttentionKind own = encoder ? AttentionKind::encoder : AttentionKind::decoder;
  Context context(model.backend(), std::make_shared<Arena>(model.backend()));
  const auto weights = attention_weights(model, batch(), own, 1, context);
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[2].size(), static_cast<size_t>(3 * 9 * 9));
  const AttentionKind other = encoder ? AttentionKind::cross : AttentionKind::encoder;
  EXPECT_NE(error_message([&] { attention_weights(model, batch(), other, 0, context); }).find("attention"),
            std::string::npos);
}

/// What translates needs both.
TEST_P(OneStack, IsRefusedWhereItWouldTranslate) {
  const Transformer model(config(), cpu(1).backend, DType::f32, 3);
  EXPECT_EQ(error_message([&] {
              search(model, {{4, 2}}, {}, [](size_t, const auto&) {});
            }),
            std::string("search: translation needs an encoder and a decoder, but ") +
                (GetParam().encoder_layers > 0 ? "decoder_layers is 0"
                                               : "encoder_layers is 0; a language model is for 'sixfold "
                                                 "generate' and 'sixfold score --input'"));
}

TEST_P(OneStack, RefusesWhatItHasNot) {
  const Transformer model(config(), cpu(1).backend, DType::f32, 3);
  const bool encoder = GetParam().encoder_layers > 0;
  Context context(model.backend(), std::make_shared<Arena>(model.backend()));
  const Batch samples = batch();
  const TokenRows rows = context.token_rows(encoder ? samples.source.rows : samples.target.rows);
  WholeSequences sequences(rows.ragged, true, context);
  const auto says = [](const std::string& part, const std::function<void()>& call) {
    EXPECT_NE(error_message(call).find(part), std::string::npos) << error_message(call);
  };
  if (encoder)
    says("no decoder", [&] { model.decode(samples.source.ids, {rows, sequences, {}}, context); });
  else
    says("no encoder", [&] { model.encode(samples.target, rows, context); });
  says(encoder ? "no decoder" : "no encoder",
       [&] { model.project_memory(model.states(samples, context), nullptr, context); });
  says("no cross attention", [&] { attention_weights(model, samples, AttentionKind::cross, 0, context); });
  Batch bad = samples;
  bad.labels[3] = config().target_vocab;
  says("label id", [&] { model.loss(bad, {}, context); });
  bad.labels.pop_back();
  says("targets", [&] { bad.labels[3] = 0, model.loss(bad, {}, context); });
}

TEST(Stacks, ADecoderNeedsTheEncodersOutputForEachLayer) {
  const Transformer model(small_config(), cpu(1).backend, DType::f32, 3);
  const Batch samples = random_pairs({{5, 5}}, model.config(), 3);
  Context context(model.backend(), std::make_shared<Arena>(model.backend()));
  const TokenRows rows = context.token_rows(samples.target.rows);
  WholeSequences sequences(rows.ragged, true, context);
  EXPECT_NE(error_message([&] {
              model.decode(samples.target.ids, {rows, sequences, {}}, context);
            }).find("0 layers, expected 2"),
            std::string::npos);
}

TEST(Stacks, AModelHasOneAtLeast) {
  ModelConfig config = small_config();
  config.encoder_layers = config.decoder_layers = 0;
  EXPECT_NE(error_message([&] {
              Transformer(config, make_backend({.device = "reference"}), DType::f32, 1);
            }).find("layers"),
            std::string::npos);
}

/// Watched or not, the model computes the same bits.
TEST(Observer, ChangesNothing) {
  struct Watcher final : AttentionObserver {
    int seen = 0;
    std::vector<std::pair<AttentionKind, int>> layers;
    HostMatrix last;
    std::shared_ptr<Backend> backend;
    bool wants(AttentionKind, int) const override { return true; }
    void observe_attention(AttentionKind, int, const ops::AttentionInputs&, const ops::AttentionPattern&,
                           Context&) override {
      ++seen;
    }
    void observe_states(AttentionKind kind, int layer, const Tensor& states) override {
      layers.emplace_back(kind, layer);
      last = host_copy(states, *backend);
    }
  };
  const Transformer model(small_config(), cpu(2).backend, DType::f32, 1);
  const Batch batch = random_pairs(uneven_pairs(), model.config(), 2);
  Watcher watcher;
  watcher.backend = model.backend();
  Context context(model.backend(), std::make_shared<Arena>(model.backend()));
  const HostMatrix watched = host_copy(model.states(batch, context, &watcher), *model.backend());
  EXPECT_EQ(watcher.seen, 2 + 2 + 2);
  const auto encoder = AttentionKind::encoder, decoder = AttentionKind::decoder;
  EXPECT_EQ(watcher.layers,
            (std::vector<std::pair<AttentionKind, int>>{
                {encoder, 0}, {encoder, 1}, {encoder, 2}, {decoder, 0}, {decoder, 1}, {decoder, 2}}));
  EXPECT_TRUE(watcher.last == watched);  // the paper's stacks have nothing after their last layer
  EXPECT_TRUE(watched == states_of(model, batch));
}

/// The gradients of a step of which some parts are frozen, by name.
std::map<std::string, HostMatrix> gradients_with(const std::set<ModelPart>& frozen, const Machine& machine) {
  Transformer model(small_config(), machine.backend, machine.dtype, 1);
  for (Parameter& parameter : model.parameters())
    parameter.tensor.set_requires_grad(!frozen.contains(parameter.part));
  Batch batch = random_pairs(uneven_pairs(), model.config(), 2);
  batch.labels = batch.target.ids;
  Tape tape;
  Context context(machine.backend, std::make_shared<Arena>(machine.backend), tape, {.seed = 1, .update = 1});
  model.loss(batch, {}, context);
  tape.backward();
  std::map<std::string, HostMatrix> gradients;
  for (const Parameter& parameter : model.parameters()) {
    EXPECT_EQ(static_cast<bool>(parameter.tensor.gradient()), !frozen.contains(parameter.part))
        << parameter.name;
    if (parameter.tensor.gradient())
      gradients[parameter.name] = host_copy(parameter.tensor.gradient(), *machine.backend);
  }
  return gradients;
}

/// Whatever is frozen, what is trained has the gradient that it has when nothing is. On the cpu not to the bit:
/// attention that no gradient flows through adds up in another order.
TEST(Freezing, ChangesNoGradientOfWhatIsTrained) {
  using enum ModelPart;
  for (const Machine& machine : {reference_f64(), cpu(2)}) {
    const auto whole = gradients_with({}, machine);
    for (const std::set<ModelPart>& frozen : {std::set{embeddings},
                                              {encoder},
                                              {decoder},
                                              {embeddings, encoder},
                                              {embeddings, decoder},
                                              {encoder, decoder}})
      for (const auto& [name, gradient] : gradients_with(frozen, machine)) {
        if (machine.dtype == DType::f64)
          EXPECT_TRUE(gradient == whole.at(name)) << name;
        else
          expect_close(gradient, whole.at(name), 1e-4, name, 0.1);
      }
  }
}

}  // namespace
}  // namespace sixfold
