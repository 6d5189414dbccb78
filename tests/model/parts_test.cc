// A batch that is processed in parts has the gradients of the whole: bit for bit where each weight is used
// once, as docs/same-bits.md promises, and in fp64 up to rounding everywhere.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "close.h"
#include "model/small_model.h"
#include "model/variants.h"

namespace sixfold {
namespace {

/// A model and a batch for it.
struct ModelAndBatch {
  std::string name;
  ModelConfig config;
  Batch batch;
};

void PrintTo(const ModelAndBatch& trained, std::ostream* out) { *out << trained.name; }

/// The gradients of the loss, by weight; the batch is split into parts of at most so many tokens, 0: not at
/// all.
std::map<std::string, HostMatrix> gradients(const Machine& machine, const ModelAndBatch& trained,
                                            int64_t part_tokens) {
  const Transformer model(trained.config, machine.backend, machine.dtype, 1);
  const auto arena = std::make_shared<Arena>(machine.backend);
  for (const Batch& part : split(trained.batch, part_tokens)) {
    Tape tape;
    Context context(machine.backend, arena, tape, {.seed = 1, .update = 1});
    model.loss(part, {.label_smoothing = 0.1}, context);
    tape.backward();
  }
  std::map<std::string, HostMatrix> result;
  for (const Parameter& parameter : model.parameters())
    result[parameter.name] = host_copy(parameter.tensor.gradient(), *machine.backend);
  return result;
}

/// Weights that a pass uses several times; the sum of their gradients is taken use by use.
bool used_once(const std::string& name, const ModelConfig& config) {
  const bool bahdanau = config.decoder_mixer == MixerKind::bahdanau && name.starts_with("decoder.layers.");
  return !bahdanau && !name.ends_with("embed_positions.weight") && !name.ends_with("embed_types.weight") &&
         name.find("relative_attention_bias") == std::string::npos;
}

class Parts : public testing::TestWithParam<ModelAndBatch> {};

TEST_P(Parts, HaveTheGradientsOfTheWhole) {
  const ModelAndBatch& trained = GetParam();
  const auto whole = gradients(reference_f64(), trained, 1 << 20), bits = gradients(cpu(2), trained, 1 << 20);
  for (const int64_t tokens : {1, 9, 70, 150}) {
    for (const auto& [name, gradient] : gradients(reference_f64(), trained, tokens))
      expect_close(gradient, whole.at(name), 1e-12, trained.name + ", " + name);
    for (const auto& [name, gradient] : gradients(cpu(2), trained, tokens))
      EXPECT_TRUE(gradient == bits.at(name) || !used_once(name, trained.config))
          << name << " in parts of " << tokens << " tokens";
  }
}

ModelConfig untied() {
  ModelConfig config = small_config();
  config.tied_embeddings = TiedEmbeddings::none;
  config.dropout = config.attention_dropout = config.activation_dropout = 0.2f;
  return config;
}

ModelAndBatch of_pairs(const std::string& name, const ModelConfig& config) {
  Batch batch = random_pairs(uneven_pairs(), config, 5);
  batch.labels = batch.target.ids;
  return {name, config, batch};
}

std::vector<ModelAndBatch> all_variants() {
  std::vector<ModelAndBatch> all;
  for (const bool dropout : {true, false})
    for (const Variant& variant : variants) {
      ModelConfig config = untied();
      variant.change(config);
      config.tied_embeddings = TiedEmbeddings::none;
      if (config.decoder_mixer == MixerKind::bahdanau) config.attention_dropout = 0;  // which it has not
      if (!dropout) config.dropout = config.attention_dropout = config.activation_dropout = 0;
      if (config.norm != Norm::batch)  // which normalizes over a part
        all.push_back(of_pairs(std::string(variant.name) + (dropout ? "" : "_without_dropout"), config));
    }
  return all;
}

/// Texts for an encoder, with the labels that `label` gives the builder.
ModelAndBatch of_texts(const std::string& name, ModelConfig config,
                       const std::function<void(BatchBuilder&, int)>& label) {
  config.decoder_layers = 0;
  const Batch pairs = random_pairs(uneven_pairs(), config, 5);
  BatchBuilder builder;
  for (int i = 0; i < pairs.size(); ++i) {
    builder.sample(i).source(ids_of(pairs.source, i));
    label(builder, pairs.source.rows.length(i));
  }
  return {name, config, builder.take()};
}

std::vector<ModelAndBatch> all_tasks() {
  std::vector<ModelAndBatch> all;
  ModelConfig config = untied();
  const auto sequence_label = [](BatchBuilder& builder, int length) {
    builder.label_sequence(length % 3, 0.5f);
  };
  for (const Pooling pooling : {Pooling::first, Pooling::mean, Pooling::attention}) {
    config.head = {OutputHead::classes, 3, pooling};
    all.push_back(of_texts("classes_by_" + std::string(name_of_enum(pooling)), config, sequence_label));
  }
  config.head = {OutputHead::classes, 3, Pooling::first, /*dense=*/true, Activation::tanh, /*norm=*/true};
  all.push_back(of_texts("classes_by_a_dense_map", config, sequence_label));
  config = untied();
  config.head.kind = OutputHead::span, config.context_tokens = 90, config.token_types = 2;
  all.push_back(of_texts("span", config, [](BatchBuilder& builder, int length) {
    builder.choose({length / 4, length}, std::vector<int32_t>{length / 3, length / 2});
  }));
  config = untied();
  config.head = {.dense = true, .activation = Activation::gelu, .norm = true};
  all.push_back(of_texts("masked_tokens", config, [](BatchBuilder& builder, int length) {
    builder.label_tokens(std::vector<int32_t>{length / 2}, std::vector<int32_t>{length % 40});
  }));
  for (const MixerKind mixer : {MixerKind::attention, MixerKind::ssru, MixerKind::average, MixerKind::lstm}) {
    config = untied();
    config.encoder_layers = 0, config.decoder_mixer = mixer;
    ModelAndBatch model = of_pairs("language_model_" + std::string(name_of_enum(mixer)), config);
    model.batch.source = {};
    all.push_back(model);
  }
  for (const bool captions : {false, true}) {
    config = untied();
    config.image = {.height = 4, .width = 6, .channels = 3, .patch = 4, .stride = 2};
    config.source_vocab = ModelConfig::pixel_values;
    if (!captions) config.decoder_layers = 0, config.head = {OutputHead::classes, 3, Pooling::mean};
    BatchBuilder builder;
    for (int image = 0; image < 3; ++image) {
      std::vector<int32_t> values;
      for (int i = 0; i < 2 * 48; ++i) values.push_back((i * (7 + 5 * image) + 31 * image) % 256);
      builder.sample(image).source(values, 48);
      if (captions)
        builder.teacher_forced(std::vector<int32_t>(static_cast<size_t>(image + 1), 5 + image), {-1, 2});
      else
        builder.label_sequence(image);
    }
    all.push_back({captions ? "captions" : "classes_of_images", config, builder.take()});
  }
  return all;
}

const auto name_of_model = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Variants, Parts, testing::ValuesIn(all_variants()), name_of_model);
INSTANTIATE_TEST_SUITE_P(Tasks, Parts, testing::ValuesIn(all_tasks()), name_of_model);

}  // namespace
}  // namespace sixfold
