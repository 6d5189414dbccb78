#include "model/variants.h"

#include <gtest/gtest.h>

#include <array>

#include "close.h"
#include "model/decoding_state.h"
#include "model/gradient_check.h"
#include "model/parameter_formula.h"
#include "model/small_model.h"

namespace sixfold {
namespace {

class Variants : public testing::TestWithParam<Variant> {
 protected:
  ModelConfig config() const {
    ModelConfig config = small_config();
    GetParam().change(config);
    return config;
  }
  /// Targets begin with an embedding of zeros.
  Batch batch(const PairLengths& lengths) const {
    Batch batch = random_pairs(lengths, config(), 5);
    for (int i = 0; i < batch.target.rows.sequences(); ++i)
      batch.target.ids[static_cast<size_t>(batch.target.rows.begin(i))] = ModelConfig::zero_start;
    return batch;
  }
  /// The states are those of training, where a batch norm normalizes over the batch.
  double loss(const Transformer& model, const Batch& pairs) const {
    const auto arena = std::make_shared<Arena>(model.backend());
    Tape tape;
    Context training(model.backend(), arena, tape, {.seed = 1, .update = 1}), context(model.backend(), arena);
    return ops::cross_entropy(context, model.states(pairs, training), model.output(),
                              context.indices(wanted(pairs)), {})
        .item(*model.backend());
  }
  std::vector<int32_t> wanted(const Batch& pairs) const {
    std::vector<int32_t> ids;
    for (size_t i = 0; i < pairs.target.ids.size(); ++i) ids.push_back(static_cast<int32_t>(7 * i % 43));
    return ids;
  }
};

TEST_P(Variants, HaveAsManyWeightsAsTheFormulaSays) {
  const Transformer model(config(), make_backend({.device = "reference"}), DType::f32, 1);
  int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.tensor.size();
  EXPECT_EQ(count, parameters_by_formula(config()));
  EXPECT_EQ(count, parameter_count(config()));
}

TEST_P(Variants, CpuAgreesWithTheReferenceWithAnyThreads) {
  const auto states = [&](const Machine& machine) {
    return states_of(Transformer(config(), machine.backend, machine.dtype, 1), batch(uneven_pairs()));
  };
  const HostMatrix one = states(cpu(1));
  expect_close(one, states(reference_f64()), 1e-5, GetParam().name);
  EXPECT_TRUE(one == states(cpu(2)));
}

TEST_P(Variants, APackedBatchEqualsItsSentencesOneByOne) {
  const Batch all = batch(uneven_pairs());
  for (const Machine& machine : {reference_f32(), cpu(2)}) {
    const Transformer model(config(), machine.backend, machine.dtype, 1);
    const HostMatrix states = states_of(model, all);
    for (int i = 0; i < all.target.rows.sequences(); ++i)
      EXPECT_TRUE(states.slice_rows(all.target.rows.begin(i), all.target.rows.length(i)) ==
                  states_of(model, pair_of(all, i)))
          << machine.name << ", sentence " << i;
  }
}

TEST_P(Variants, TokenByTokenEqualsTheFullPass) {
  const Machine machine = cpu(1);
  const Transformer model(config(), machine.backend, machine.dtype, 1);
  const Batch pair = batch({{5, 6}});
  const HostMatrix full = states_of(model, pair);
  DecodingState cache(model, machine.backend);
  const auto arena = std::make_shared<Arena>(machine.backend);
  {
    Context context(machine.backend, arena);
    cache.enter(std::array{0}, pair.source, context);
  }
  for (int64_t i = 0; i < full.rows; ++i) {
    Context context(machine.backend, arena);
    const std::array next{Extension{0, 0, std::span(pair.target.ids).subspan(static_cast<size_t>(i), 1)}};
    const auto state = cache.extend(next, context).to_floats(*machine.backend);
    for (int64_t c = 0; c < full.cols; ++c)
      EXPECT_NEAR(state[static_cast<size_t>(c)], full.values[static_cast<size_t>(i * full.cols + c)], 2e-5);
  }
}

TEST_P(Variants, GradientsAreThoseOfFiniteDifferences) {
  const Machine machine = reference_f64();
  const Transformer model(config(), machine.backend, machine.dtype, 1);
  const Batch pairs = batch({{3, 4}, {2, 3}});
  const auto arena = std::make_shared<Arena>(machine.backend);
  Tape tape;
  Context context(machine.backend, arena, tape, {.seed = 1, .update = 1});
  ops::cross_entropy(context, model.states(pairs, context), model.output(), context.indices(wanted(pairs)), {});
  tape.backward();
  expect_gradients_of(
      model, [&] { return loss(model, pairs); }, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(, Variants, testing::ValuesIn(variants),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace sixfold
