#pragma once
#include <memory>
#include <vector>

#include "base/random.h"
#include "model/transformer.h"

namespace sixfold {

/// Symbols: 0 unknown, 1 start, 2 end.
inline ModelConfig small_config(int vocab, int decoder_start_token = ModelConfig::zero_start) {
  ModelConfig config;
  config.task = "translation";
  config.decoder_start_token = decoder_start_token;
  config.d_model = 16;
  config.heads = 2;
  config.d_ff = 32;
  config.d_v = 5;
  config.encoder_layers = 1;
  config.decoder_layers = 2;
  config.source_vocab = config.target_vocab = vocab;
  config.tied_embeddings = TiedEmbeddings::none;  // tied and untrained it would say each symbol again
  config.output_bias = true;
  return config;
}

/// A model that has learnt nothing but to be sure of itself: some next symbols are far likelier than others,
/// the end symbol often among them, so that outputs are of many lengths.
struct RandomModel : Transformer {
  RandomModel(int vocab, uint64_t seed, std::shared_ptr<Backend> shared = make_backend(),
              int decoder_start_token = ModelConfig::zero_start, const MixerFactory& mixer = make_mixer)
      : Transformer(small_config(vocab, decoder_start_token), std::move(shared), DType::f32, seed, mixer) {
    Tensor weight = output().weight;
    auto weights = weight.to_floats(*backend());
    for (float& w : weights) w *= 2;
    weight.copy_from(*backend(), weights);
    std::vector<float> bias(static_cast<size_t>(vocab));
    bias[2] = 1;
    Tensor(output().bias).copy_from(*backend(), bias);
    pack();
  }
};

/// `count` sources of 1 to `longest` symbols, the end symbol the last.
inline std::vector<std::vector<int32_t>> random_sources(size_t count, int longest, int vocab, uint64_t seed) {
  RandomStream random(seed, 0);
  std::vector<std::vector<int32_t>> sources(count);
  for (auto& source : sources) {
    source.resize(random.below(static_cast<uint32_t>(longest)));
    for (int32_t& id : source) id = 3 + static_cast<int32_t>(random.below(static_cast<uint32_t>(vocab - 3)));
    source.push_back(2);
  }
  return sources;
}

}  // namespace sixfold
