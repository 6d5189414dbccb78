#include "model/transformer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace sixfold {
namespace {

Tensor embedding_table(ParameterBuilder& make, const char* name, int vocab, int d_model) {
  return make.make(name, vocab, d_model, Initial::embedding);
}

void check_ids(const std::vector<int32_t>& ids, int vocab, const char* side, int lowest = 0) {
  for (const int32_t id : ids)
    require(id >= lowest && id < vocab, "a {} id is {}, the model's vocabulary has {} symbols", side, id,
            vocab);
}

void check_target(const std::vector<int32_t>& ids, int vocab) {
  check_ids(ids, vocab, "target", GenerationConfig::zero_start);
}

/// Whether source and target are embedded by one matrix.
bool share_embedding(TiedEmbeddings tied) {
  return tied == TiedEmbeddings::all || tied == TiedEmbeddings::source;
}
/// Whether the output is projected by the target's embedding.
bool share_output(TiedEmbeddings tied) {
  return tied == TiedEmbeddings::all || tied == TiedEmbeddings::decoder;
}

}  // namespace

Transformer::Transformer(const ModelConfig& config, std::shared_ptr<Backend> backend, DType dtype,
                         std::optional<uint64_t> seed)
    : config_((validate(config), config)),
      backend_(std::move(backend)),
      dtype_(dtype),
      maker_(backend_, dtype, seed),
      source_embedding_(
          share_embedding(config.tied_embeddings)
              ? embedding_table(maker_, "shared.weight", config.source_vocab, config.d_model)
              : embedding_table(maker_, "encoder.embed_tokens.weight", config.source_vocab, config.d_model)),
      target_embedding_(
          share_embedding(config.tied_embeddings)
              ? source_embedding_
              : embedding_table(maker_, "decoder.embed_tokens.weight", config.target_vocab, config.d_model)),
      encoder_(maker_, config),
      decoder_(maker_, config),
      output_{share_output(config.tied_embeddings)
                  ? target_embedding_
                  : embedding_table(maker_, "output_projection.weight", config.target_vocab, config.d_model),
              config.output_bias ? maker_.make("output_projection.bias", 1, config.target_vocab, Initial::zeros)
                                 : Tensor()},
      positions_(backend_, dtype, config.d_model, config.positions),
      learned_positions_(
          config.positions == Positions::learned
              ? embedding_table(maker_, "embed_positions.weight", config.max_positions, config.d_model)
              : Tensor()),
      parameters_(maker_.take_parameters()) {}

Tensor Transformer::embed(const Tensor& table, std::span<const int32_t> ids, const TokenRows& rows,
                          Context& context) const {
  const double scale = config_.embedding_scale ? std::sqrt(static_cast<double>(config_.d_model)) : 1.0;
  const auto& steps = config_.postprocess_embedding;
  const Dropout dropout = !steps.empty() && steps.front() == ProcessStep::dropout
                              ? context.dropout(config_.dropout, rows)
                              : Dropout();
  const Tensor tokens = context.indices(ids);
  if (!learned_positions_)
    return ops::embed(context, {table, positions_.at_least(rows.longest), scale}, tokens, rows, dropout);
  const Tensor places = ops::embed(context, {learned_positions_, {}}, rows.position, rows);
  return ops::dropout(
      context, {ops::add(context, ops::embed(context, {table, {}, scale}, tokens, rows), places), dropout});
}

Tensor Transformer::encode(const IdBatch& source, const TokenRows& rows, Context& context) const {
  check_ids(source.ids, config_.source_vocab, "source");
  return encoder_(embed(source_embedding_, source.ids, rows, context), rows, context);
}

Tensor Transformer::decode(std::span<const int32_t> ids, const DecoderInput& input, Context& context) const {
  return decoder_(embed(target_embedding_, ids, input.rows, context), input, context);
}

Tensor Transformer::states(const PairBatch& batch, Context& context) const {
  check_target(batch.target.ids, config_.target_vocab);
  const TokenRows source = context.token_rows(batch.source.rows, batch.sentences);
  const TokenRows target = context.token_rows(batch.target.rows, batch.sentences);
  const auto pattern = std::make_shared<ops::AttentionPattern>(
      ops::attention_pattern(batch.target.rows, batch.source.rows, /*causal=*/false));
  const auto memory = decoder_.project_memory(encode(batch.source, source, context), pattern, context);
  TeacherForcing history(batch.target.rows);
  return decode(batch.target.ids, {target, history, memory}, context);
}

std::vector<std::vector<float>> Transformer::attention(const PairBatch& batch, AttentionKind kind, int layer,
                                                       Context& context) const {
  const int layers = kind == AttentionKind::encoder ? config_.encoder_layers : config_.decoder_layers;
  require(layer >= 0 && layer < layers, "attention of layer {}: the model has layers 0 to {}", layer,
          layers - 1);
  check_target(batch.target.ids, config_.target_vocab);
  const TokenRows source = context.token_rows(batch.source.rows),
                  target = context.token_rows(batch.target.rows);
  Tensor weights;  // [heads * queries, most keys]
  if (kind == AttentionKind::encoder) {
    check_ids(batch.source.ids, config_.source_vocab, "source");
    weights = encoder_.attention_weights(embed(source_embedding_, batch.source.ids, source, context), source,
                                         layer, context);
  } else {
    const auto pattern = std::make_shared<ops::AttentionPattern>(
        ops::attention_pattern(batch.target.rows, batch.source.rows, /*causal=*/false));
    const auto memory = decoder_.project_memory(encode(batch.source, source, context), pattern, context);
    TeacherForcing history(batch.target.rows);
    const DecoderInput input{target, history, memory};
    const Tensor embedded = embed(target_embedding_, batch.target.ids, target, context);
    weights = kind == AttentionKind::decoder
                  ? decoder_.self_attention_weights(embedded, input, layer, context)
                  : decoder_.cross_attention_weights(embedded, input, layer, context);
  }
  const Ragged& queries = kind == AttentionKind::encoder ? batch.source.rows : batch.target.rows;
  const Ragged& keys = kind == AttentionKind::decoder ? batch.target.rows : batch.source.rows;
  const auto all = weights.to_floats(context.backend());
  std::vector<std::vector<float>> result;
  for (int i = 0; i < queries.sequences(); ++i) {
    auto& sentence = result.emplace_back();
    for (int head = 0; head < config_.heads; ++head)
      for (int q = queries.begin(i); q < queries.begin(i + 1); ++q) {
        const auto row = all.begin() + (int64_t{head} * queries.tokens() + q) * weights.cols();
        sentence.insert(sentence.end(), row, row + keys.length(i));
      }
  }
  return result;
}

void Transformer::pack() const {
  for (const auto& parameter : parameters_)
    if (parameter.name.ends_with("proj.weight") || parameter.name.ends_with("fc1.weight") ||
        parameter.name.ends_with("fc2.weight") || parameter.tensor.same_as(output_.weight))
      parameter.tensor.set_packed(backend_->pack(parameter.tensor.view(), /*transpose_b=*/true));
}

void Transformer::discard_packed() const {
  for (const auto& parameter : parameters_) parameter.tensor.set_packed(nullptr);
}

}  // namespace sixfold
