#include "model/attention_weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "close.h"
#include "error_message.h"
#include "model/small_model.h"

namespace sixfold {
namespace {

std::vector<std::vector<float>> weights_of(const ModelConfig& config, const Batch& batch, AttentionKind kind) {
  const Machine machine = cpu(1);
  const Transformer model(config, machine.backend, machine.dtype, 1);
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  return attention_weights(model, batch, kind, 1, context);
}

/// Every kind of attention of every kind of mixer is either shown or refused.
TEST(AttentionWeightsOfMixers, AreShownOrRefused) {
  for (const auto& entry : EnumNames<MixerKind>::names) {
    const MixerKind mixer = entry.first;
    ModelConfig config = small_config();
    config.decoder_mixer = mixer;
    if (mixer != MixerKind::ssru && mixer != MixerKind::average && mixer != MixerKind::bahdanau)
      config.encoder_mixer = mixer;
    const Batch batch = random_pairs({{5, 3}, {1, 2}}, config, 2);
    for (const auto kind : {AttentionKind::encoder, AttentionKind::decoder, AttentionKind::cross}) {
      const MixerKind own = kind == AttentionKind::encoder ? config.encoder_mixer : config.decoder_mixer;
      if (kind != AttentionKind::cross && !is_self_attention(own)) {
        const std::string stack(name_of_enum(kind));
        EXPECT_EQ(error_message([&] { weights_of(config, batch, kind); }),
                  "attention: the model has no " + stack + " attention: its " + stack + "_mixer is '" +
                      std::string(entry.second) + "'");
        continue;
      }
      const auto weights = weights_of(config, batch, kind);
      ASSERT_EQ(weights.size(), 2u);
      double sum = 0;
      for (const float weight : weights[0]) sum += weight;
      const int queries = kind == AttentionKind::encoder ? 5 : 3;
      EXPECT_NEAR(sum, config.heads * queries, 1e-4) << entry.second << ", " << name_of_enum(kind);
    }
  }
}

/// The gradients of Bahdanau's attention for three pairs, the second of which has no target, or without it.
std::vector<HostMatrix> gradients_of_bahdanau(const Machine& machine, bool with_second) {
  ModelConfig config = small_config();
  config.decoder_mixer = MixerKind::bahdanau;
  const Transformer model(config, machine.backend, machine.dtype, 1);
  const Batch all = random_pairs({{4, 3}, {3, 0}, {2, 5}}, config, 3);
  Batch batch;
  for (const int i : {0, 1, 2}) {
    if (i == 1 && !with_second) continue;
    batch.source.add(ids_of(all.source, i));
    batch.target.add(ids_of(all.target, i));
  }
  const auto arena = std::make_shared<Arena>(machine.backend);
  Tape tape;
  Context context(machine.backend, arena, tape, {.seed = 1, .update = 1});
  const std::vector<int32_t> labels(batch.target.ids.size(), 3);
  ops::cross_entropy(context, model.states(batch, context), model.output(), context.indices(labels), {});
  tape.backward();
  std::vector<HostMatrix> gradients;
  for (const Parameter& parameter : model.parameters())
    if (parameter.name.find("encoder_attn") != parameter.name.npos)
      gradients.push_back(host_copy(parameter.tensor.gradient(), *machine.backend));
  return gradients;
}

TEST(Bahdanau, APairWithoutTargetLeavesTheGradients) {
  for (const Machine& machine : {reference_f32(), cpu(1), cpu(2)}) {
    const auto with = gradients_of_bahdanau(machine, true), without = gradients_of_bahdanau(machine, false);
    ASSERT_EQ(with.size(), without.size());
    ASSERT_FALSE(with.empty());
    for (size_t i = 0; i < with.size(); ++i) expect_close(with[i], without[i], 1e-6, machine.name);
  }
}

/// The index of a target token is divided by the length of the source, which may be nothing.
TEST(RelativeIndex, ASourceWithoutTokensCountsAsOne) {
  ModelConfig config = small_config();
  config.positions = Positions::relative_index;
  const Machine machine = cpu(1);
  const Transformer model(config, machine.backend, machine.dtype, 1);
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  const Tensor states = model.states(random_pairs({{0, 3}, {2, 2}}, config, 1), context);
  for (const double value : host_copy(states, *machine.backend).values) EXPECT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace sixfold
