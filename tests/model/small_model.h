#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/transformer.h"
#include "ops/run_op.h"

namespace sixfold {

/// A small model whose widths are no powers of two and whose heads have widths of their own.
inline ModelConfig small_config() {
  ModelConfig config;
  config.task = "translation";
  config.d_model = 34;
  config.heads = 3;
  config.d_k = 12;
  config.d_v = 9;
  config.d_ff = 50;
  config.encoder_layers = config.decoder_layers = 2;
  config.source_vocab = config.target_vocab = 43;
  config.dropout = 0;
  return config;
}

/// Lengths of the source and target of each pair; long ones give threads something to share.
using PairLengths = std::vector<std::pair<int, int>>;
inline PairLengths uneven_pairs() { return {{4, 5}, {1, 1}, {60, 49}, {17, 3}, {2, 51}, {49, 60}}; }

/// Random ids.
inline Batch random_pairs(const PairLengths& lengths, const ModelConfig& config, uint64_t seed) {
  RandomStream random(seed, 0);
  const auto ids = [&](int length, int vocab) {
    std::vector<int32_t> result;
    for (int i = 0; i < length; ++i)
      result.push_back(static_cast<int32_t>(random.below(static_cast<uint32_t>(vocab))));
    return result;
  };
  Batch batch;
  for (const auto& [source, target] : lengths) {
    batch.source.add(ids(source, config.source_vocab));
    batch.target.add(ids(target, config.target_vocab));
    batch.samples.push_back(100 + 7 * static_cast<int>(batch.samples.size()));
  }
  return batch;
}

inline std::vector<int32_t> ids_of(const IdBatch& batch, int sequence) {
  return {batch.ids.begin() + batch.rows.begin(sequence), batch.ids.begin() + batch.rows.begin(sequence + 1)};
}

/// One pair of a batch.
inline Batch pair_of(const Batch& batch, int sequence) {
  Batch one;
  one.source.add(ids_of(batch.source, sequence));
  one.target.add(ids_of(batch.target, sequence));
  if (!batch.samples.empty()) one.samples = {batch.samples[static_cast<size_t>(sequence)]};
  return one;
}

/// The decoder's states in a pass without gradients.
inline HostMatrix states_of(const Transformer& model, const Batch& batch) {
  Context context(model.backend(), std::make_shared<Arena>(model.backend()));
  return host_copy(model.states(batch, context), *model.backend());
}

inline Tensor parameter_named(const Transformer& model, const std::string& name) {
  for (const auto& parameter : model.parameters())
    if (parameter.name == name) return parameter.tensor;
  throw_input_error("no parameter {}", name);
}

}  // namespace sixfold
