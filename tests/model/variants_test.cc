#include <gtest/gtest.h>

#include <array>

#include "close.h"
#include "model/decoding_state.h"
#include "model/gradient_check.h"
#include "model/parameter_formula.h"
#include "model/small_model.h"

namespace sixfold {
namespace {

struct Variant {
  const char* name;
  void (*change)(ModelConfig&);
};

/// What else a Transformer can be, besides the paper's.
const Variant variants[] = {
    {"pre_norm",
     [](ModelConfig& c) {
       c.preprocess = {ProcessStep::norm};
       c.postprocess = {ProcessStep::dropout, ProcessStep::add};
       c.postprocess_top = {ProcessStep::norm};
     }},
    {"norms_everywhere",
     [](ModelConfig& c) {
       c.preprocess = {ProcessStep::norm, ProcessStep::dropout};
       c.postprocess_embedding = {ProcessStep::norm, ProcessStep::dropout};
       c.postprocess_top = {ProcessStep::add, ProcessStep::norm};
     }},
    {"no_norms",
     [](ModelConfig& c) {
       c.postprocess = {ProcessStep::add, ProcessStep::dropout};
       c.postprocess_embedding = {};
     }},
    {"swish_without_positions",
     [](ModelConfig& c) {
       c.activation = Activation::swish;
       c.positions = Positions::none;
       c.embedding_scale = false;
     }},
    {"learned_positions_and_gelu",
     [](ModelConfig& c) {
       c.activation = Activation::gelu;
       c.positions = Positions::learned;
       c.max_positions = 40;  // some sentences are longer
     }},
    {"positions_in_halves",
     [](ModelConfig& c) {
       c.activation = Activation::sigmoid_gelu;
       c.positions = Positions::sinusoidal_halves;
       c.tied_embeddings = TiedEmbeddings::source;
     }},
    {"rms_norm_and_swiglu",
     [](ModelConfig& c) {
       c.norm = Norm::rms;
       c.activation = Activation::swish;
       c.feed_forward_gate = true;
       c.feed_forward_bias = false;
     }},
    {"pre_rms_norm_and_glu",
     [](ModelConfig& c) {
       c.norm = Norm::rms;
       c.preprocess = {ProcessStep::norm};
       c.postprocess = {ProcessStep::dropout, ProcessStep::add};
       c.postprocess_top = {ProcessStep::norm};
       c.activation = Activation::sigmoid;
       c.feed_forward_gate = true;
     }},
    {"tanh_gelu_without_feed_forward_bias",
     [](ModelConfig& c) {
       c.activation = Activation::tanh_gelu;
       c.feed_forward_bias = false;
     }},
    {"rotary_positions", [](ModelConfig& c) { c.positions = Positions::rotary; }},
    // The decoder's first state is zeros, which a norm makes steep: finite differences would step over kinks of
    // ReLU.
    {"alibi_positions",
     [](ModelConfig& c) {
       c.activation = Activation::swish;
       c.positions = Positions::alibi;
     }},
    {"t5_positions",
     [](ModelConfig& c) {
       c.activation = Activation::swish;
       c.positions = Positions::t5;
       c.position_buckets = 8;
       c.position_distance = 20;  // some tokens are further apart
     }},
    {"index_positions",
     [](ModelConfig& c) {
       c.positions = Positions::index;
       c.preprocess = {ProcessStep::norm};  // else products of positions make scores of hundreds
       c.postprocess = {ProcessStep::dropout, ProcessStep::add};
       c.postprocess_top = {ProcessStep::norm};
     }},
    {"relative_index_positions", [](ModelConfig& c) { c.positions = Positions::relative_index; }},
    {"learned_positions_that_end",
     [](ModelConfig& c) {
       c.positions = Positions::learned;
       c.max_positions = 60;
       c.beyond_positions = BeyondPositions::error;
     }},
    {"convolution",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::convolution;
       c.kernel_size = 3;
     }},
    {"wide_even_convolution",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::convolution;
       c.kernel_size = 8;  // some sentences are shorter
     }},
    {"convolution_of_one_token",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::convolution;
       c.kernel_size = 1;
     }},
    {"separable",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::separable;
       c.kernel_size = 5;
     }},
    {"ssru", [](ModelConfig& c) { c.decoder_mixer = MixerKind::ssru; }},
    {"average_and_even_separable",
     [](ModelConfig& c) {
       c.encoder_mixer = MixerKind::separable;
       c.kernel_size = 4;
       c.decoder_mixer = MixerKind::average;
     }},
    {"recurrent", [](ModelConfig& c) { c.encoder_mixer = c.decoder_mixer = MixerKind::recurrent; }},
    {"lstm", [](ModelConfig& c) { c.encoder_mixer = c.decoder_mixer = MixerKind::lstm; }},
    {"gru", [](ModelConfig& c) { c.encoder_mixer = c.decoder_mixer = MixerKind::gru; }},
    {"bahdanau",
     [](ModelConfig& c) {
       c.encoder_mixer = MixerKind::gru;
       c.decoder_mixer = MixerKind::bahdanau;
     }},
    {"restricted_attention",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::restricted_attention;
       c.attention_window = 2;
     }},
    {"restricted_attention_with_t5_positions",
     [](ModelConfig& c) {
       c.encoder_mixer = c.decoder_mixer = MixerKind::restricted_attention;
       c.attention_window = 5;
       c.activation = Activation::swish;
       c.positions = Positions::t5;
       c.position_buckets = 8;
       c.position_distance = 20;
     }},
    {"multi_query", [](ModelConfig& c) { c.kv_heads = 1; }},
    {"grouped_query",
     [](ModelConfig& c) {
       c.heads = 4, c.d_k = 6, c.d_v = 5;
       c.kv_heads = 2;
     }},
    {"unscaled", [](ModelConfig& c) { c.attention_score = AttentionScore::dot; }},
    {"additive", [](ModelConfig& c) { c.attention_score = AttentionScore::additive; }},
    {"batch_norm",
     [](ModelConfig& c) {
       c.norm = Norm::batch;
       c.preprocess = {ProcessStep::norm};
     }},
    {"marian_positions",
     [](ModelConfig& c) {
       c.positions = Positions::sinusoidal_marian;
       c.output_bias = true;
     }},
};

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
