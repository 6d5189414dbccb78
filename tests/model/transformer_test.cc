#include "model/transformer.h"

#include <gtest/gtest.h>

#include <set>

#include "close.h"
#include "error_message.h"
#include "model/parameter_formula.h"
#include "model/small_model.h"

namespace sixfold {
namespace {

std::vector<Machine> machines() { return {reference_f64(), reference_f32(), cpu(1), cpu(2)}; }

TEST(Transformer, HasAsManyWeightsAsTheFormulaSays) {
  for (const auto tied : {TiedEmbeddings::all, TiedEmbeddings::decoder, TiedEmbeddings::none})
    for (const bool bias : {false, true}) {
      ModelConfig config = small_config();
      config.tied_embeddings = tied;
      config.output_bias = bias;
      config.decoder_layers = 1;
      if (tied != TiedEmbeddings::all) config.source_vocab = 31;
      const Transformer model(config, make_backend({.device = "reference"}), DType::f32, 1);
      int64_t count = 0;
      std::set<std::string> names;
      for (const Parameter& parameter : model.parameters()) {
        count += parameter.tensor.size();
        EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
        EXPECT_TRUE(parameter.tensor.requires_grad()) << parameter.name;
      }
      EXPECT_EQ(count, parameters_by_formula(config));
      EXPECT_EQ(count, parameter_count(config));
    }
}

TEST(Transformer, BeginsWithWhatTheSeedSays) {
  const auto weights = [](uint64_t seed) {
    const Transformer model(small_config(), make_backend({.device = "reference"}), DType::f32, seed);
    std::vector<float> all;
    for (const auto& parameter : model.parameters()) {
      const auto values = parameter.tensor.to_floats(*model.backend());
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  EXPECT_EQ(weights(1), weights(1));
  EXPECT_NE(weights(1), weights(2));
}

TEST(Transformer, StatesAreNormed) {
  const Transformer model(small_config(), make_backend(), DType::f32, 1);
  const HostMatrix states = states_of(model, random_pairs(uneven_pairs(), model.config(), 1));
  for (int64_t r = 0; r < states.rows; ++r) {
    const HostMatrix row = states.slice_rows(r, 1);
    double mean = 0;
    for (const double value : row.values) mean += value / static_cast<double>(row.cols);
    EXPECT_NEAR(mean, 0, 1e-5);
    EXPECT_NEAR(norm_of(row) * norm_of(row), static_cast<double>(row.cols), 1e-2);
  }
}

TEST(Transformer, CpuAgreesWithTheReference) {
  const auto states = [](const Machine& machine) {
    const Transformer model(small_config(), machine.backend, machine.dtype, 1);
    return states_of(model, random_pairs(uneven_pairs(), model.config(), 1));
  };
  const HostMatrix one = states(cpu(1));
  expect_close(one, states(reference_f64()), 1e-5, "cpu");
  EXPECT_TRUE(one == states(cpu(2)));
}

TEST(Transformer, ALaterTargetTokenChangesNoEarlierOutput) {
  for (const Machine& machine : machines()) {
    const Transformer model(small_config(), machine.backend, machine.dtype, 1);
    const Batch batch = random_pairs({{5, 7}, {6, 9}, {3, 4}}, model.config(), 2);
    const HostMatrix before = states_of(model, batch);
    for (int place = 0; place < 9; ++place) {
      Batch changed = batch;
      const int row = batch.target.rows.begin(1) + place;
      auto& id = changed.target.ids[static_cast<size_t>(row)];
      id = (id + 1) % model.config().target_vocab;
      const HostMatrix after = states_of(model, changed);
      for (int r = 0; r < batch.target.rows.tokens(); ++r) {
        const bool may_change = r >= row && r < batch.target.rows.begin(2);
        EXPECT_EQ(after.slice_rows(r, 1) == before.slice_rows(r, 1), !may_change)
            << machine.name << ": row " << r << " when row " << row << " changes";
      }
    }
  }
}

TEST(Transformer, EverySourceTokenReachesEveryOutputOfItsSentence) {
  const Machine machine = cpu(2);
  const Transformer model(small_config(), machine.backend, machine.dtype, 1);
  const Batch batch = random_pairs({{5, 7}, {6, 9}, {3, 4}}, model.config(), 3);
  const HostMatrix before = states_of(model, batch);
  for (int row = batch.source.rows.begin(1); row < batch.source.rows.begin(2); ++row) {
    Batch changed = batch;
    auto& id = changed.source.ids[static_cast<size_t>(row)];
    id = (id + 1) % model.config().source_vocab;
    const HostMatrix after = states_of(model, changed);
    for (int r = 0; r < batch.target.rows.tokens(); ++r) {
      const bool own = r >= batch.target.rows.begin(1) && r < batch.target.rows.begin(2);
      EXPECT_EQ(after.slice_rows(r, 1) == before.slice_rows(r, 1), !own) << "row " << r;
    }
  }
}

/// A training pass over a batch: the states, and the gradients of all weights, one after the other.
struct Trained {
  HostMatrix states;
  std::vector<HostMatrix> gradients;
};

ModelConfig dropping_config() {
  ModelConfig config = small_config();
  config.dropout = 0.1f;
  config.attention_dropout = 0.2f;
  config.activation_dropout = 0.3f;
  return config;
}

/// Trains on the batches one after the other, without an update between them.
Trained train(const Machine& machine, const std::vector<Batch>& batches) {
  const Transformer model(dropping_config(), machine.backend, machine.dtype, 1);
  const auto arena = std::make_shared<Arena>(machine.backend);
  Trained trained;
  for (const Batch& batch : batches) {
    Tape tape;
    Context context(machine.backend, arena, tape, {.seed = 3, .update = 4});
    const Tensor states = model.states(batch, context);
    const HostMatrix host = host_copy(states, *machine.backend);
    trained.states.cols = host.cols;
    trained.states.rows += host.rows;
    trained.states.values.insert(trained.states.values.end(), host.values.begin(), host.values.end());
    ops::cross_entropy(context, states, model.output(), context.indices(batch.target.ids),
                       {.label_smoothing = 0.1});
    tape.backward();
  }
  EXPECT_GT(arena->peak(), 0u);
  for (const auto& parameter : model.parameters())
    trained.gradients.push_back(host_copy(parameter.tensor.gradient(), *machine.backend));
  return trained;
}

TEST(Transformer, APackedBatchEqualsItsSentencesOneByOne) {
  for (const Machine& machine : machines()) {
    const Batch batch = random_pairs(uneven_pairs(), dropping_config(), 5);
    std::vector<Batch> sentences;
    for (int i = 0; i < batch.target.rows.sequences(); ++i) sentences.push_back(pair_of(batch, i));
    const Trained packed = train(machine, {batch}), one_by_one = train(machine, sentences);
    EXPECT_TRUE(packed.states == one_by_one.states) << machine.name;
    for (size_t i = 0; i < packed.gradients.size(); ++i)
      expect_close(one_by_one.gradients[i], packed.gradients[i], machine.dtype == DType::f64 ? 1e-9 : 1e-4,
                   machine.name + ", gradient " + std::to_string(i), 1e-3);

    const Transformer model(small_config(), machine.backend, machine.dtype, 1);
    const HostMatrix together = states_of(model, batch);
    for (int i = 0; i < batch.target.rows.sequences(); ++i)
      EXPECT_TRUE(states_of(model, pair_of(batch, i)) ==
                  together.slice_rows(batch.target.rows.begin(i), batch.target.rows.length(i)))
          << machine.name << ", sentence " << i;
  }
}

TEST(Transformer, TrainsAlikeWithAnyThreads) {
  const Batch batch = random_pairs(uneven_pairs(), dropping_config(), 6);
  const Trained one = train(cpu(1), {batch}), two = train(cpu(2), {batch});
  EXPECT_TRUE(one.states == two.states);
  for (size_t i = 0; i < one.gradients.size(); ++i) EXPECT_TRUE(one.gradients[i] == two.gradients[i]) << i;
}

TEST(Transformer, PackedWeightsGiveTheSameBits) {
  Transformer model(small_config(), make_backend({.threads = 2}), DType::f32, 1);
  const Batch batch = random_pairs(uneven_pairs(), model.config(), 7);
  const HostMatrix before = states_of(model, batch);
  model.pack();
  EXPECT_TRUE(states_of(model, batch) == before);
}

TEST(Transformer, ATrainingPassLeavesNothingBehind) {
  const Machine machine = cpu(1);
  const auto arena = std::make_shared<Arena>(machine.backend);
  size_t gradients = 0;
  {
    const Transformer model(dropping_config(), machine.backend, machine.dtype, 1);
    const Batch batch = random_pairs(uneven_pairs(), model.config(), 8);
    for (int update = 0; update < 2; ++update) {
      Tape tape;
      Context context(machine.backend, arena, tape, {});
      const Tensor states = model.states(batch, context);
      ops::cross_entropy(context, states, model.output(), context.indices(batch.target.ids), {});
      tape.backward();
    }
    for (const auto& parameter : model.parameters()) gradients += (parameter.tensor.bytes() + 63) / 64 * 64;
    EXPECT_EQ(arena->in_use(), gradients);
  }
  EXPECT_EQ(arena->in_use(), 0u);
}

TEST(Transformer, RefusesWhatIsNoBatchOfItsOwn) {
  const Transformer model(small_config(), make_backend(), DType::f32, 1);
  const Batch batch = random_pairs({{2, 3}, {4, 5}}, model.config(), 9);
  const auto message = [&](auto spoil) {
    Batch bad = batch;
    spoil(bad);
    return error_message([&] { states_of(model, bad); });
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(contains(message([](Batch& b) { b.source.ids[3] = 43; }), "source id 43"));
  EXPECT_TRUE(contains(message([](Batch& b) { b.target.ids[3] = -2; }), "target id -2"));
  EXPECT_TRUE(contains(message([](Batch& b) { b.target.ids.pop_back(); }), "ids"));
  EXPECT_TRUE(contains(message([](Batch& b) { b.samples.pop_back(); }), "1 sentence numbers"));
  EXPECT_TRUE(contains(message([](Batch& b) { b.source.add(std::vector<int32_t>{1}); }), "sequences"));
}

}  // namespace
}  // namespace sixfold
