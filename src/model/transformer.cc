#include "model/transformer.h"

#include <algorithm>
#include <iterator>

#include "backend/meta_backend.h"
#include "base/error.h"
#include "model/guided_alignment.h"

namespace sixfold {
namespace {

void check_ids(const std::vector<int32_t>& ids, int vocab, const char* side, int lowest = 0) {
  for (const int32_t id : ids)
    require(id >= lowest && id < vocab, "{} id {} is not in the model's vocabulary of {} tokens", side, id,
            vocab);
}

Tensor make_embedding(ParameterBuilder& builder, const ModelConfig& c, const char* name, int vocab,
                      bool projects_output) {
  return builder.table(c.shares_embedding() ? "shared.weight" : name, vocab, c.d_model,
                       projects_output ? ParameterUse::lookup_and_product : ParameterUse::lookup);
}

std::optional<PatchEmbedding> make_patches(const ParameterBuilder& builder, const ModelConfig& c) {
  if (!c.reads_images()) return std::nullopt;
  return PatchEmbedding(builder.in("encoder.embed_patches"), c.image, c.d_model);
}

Tensor make_source_embedding(ParameterBuilder& builder, const ModelConfig& c) {
  if (!c.has_encoder() || c.reads_images()) return {};
  const bool projects_output =
      c.head.kind == OutputHead::vocabulary && c.shares_output() && (c.shares_embedding() || !c.has_decoder());
  return make_embedding(builder, c, "encoder.embed_tokens.weight", c.source_vocab, projects_output);
}

Tensor make_target_embedding(ParameterBuilder& builder, const ModelConfig& c, const Tensor& source_embedding) {
  if (!c.has_decoder()) return {};
  if (c.has_encoder() && c.shares_embedding()) return source_embedding;
  return make_embedding(builder, c, "decoder.embed_tokens.weight", c.target_vocab, c.shares_output());
}

std::optional<Stack> make_encoder(const ParameterBuilder& builder, const ModelConfig& c,
                                  const MixerFactory& mixer) {
  if (!c.has_encoder()) return std::nullopt;
  return Stack(builder.of(ModelPart::encoder).in("encoder"), AttentionKind::encoder, c,
               /*cross_attention=*/false, mixer);
}

std::optional<Stack> make_decoder(const ParameterBuilder& builder, const ModelConfig& c,
                                  const MixerFactory& mixer) {
  if (!c.has_decoder()) return std::nullopt;
  return Stack(builder.of(ModelPart::decoder).in("decoder"), AttentionKind::decoder, c.of_decoder(),
               /*cross_attention=*/c.has_encoder(), mixer);
}

Tensor make_positions(ParameterBuilder builder, const ModelConfig& c) {
  if (c.positions != Positions::learned) return {};
  return builder.table("embed_positions.weight", c.max_positions, c.d_model, ParameterUse::elementwise);
}

TokenEmbedding::Tables make_tables(const ParameterBuilder& builder, const ModelConfig& c, AttentionKind stack,
                                   const Tensor& shared_positions) {
  ParameterBuilder stack_builder = builder.in(std::string(name_of_enum(stack)));
  const bool types = stack == AttentionKind::encoder && c.token_types > 0;
  return {.positions = c.separate_positions ? make_positions(stack_builder, c) : shared_positions,
          .types = types ? stack_builder.table("embed_types.weight", c.token_types, c.d_model,
                                               ParameterUse::elementwise)
                         : Tensor()};
}

std::unique_ptr<const TokenEmbedding> make_token_embedding(const ParameterBuilder& builder,
                                                           const ModelConfig& c, AttentionKind stack,
                                                           const Tensor& shared_positions) {
  if (stack == AttentionKind::encoder ? !c.has_encoder() : !c.has_decoder()) return nullptr;
  return std::make_unique<const TokenEmbedding>(builder, c, make_tables(builder, c, stack, shared_positions));
}

/// The token types of sources in which labels select rows of a second text: 0 before that text, then 1.
std::vector<int32_t> types_of(const Batch& batch) {
  std::vector<int32_t> types;
  for (size_t i = 0; i < batch.choices.size(); ++i) {
    types.resize(static_cast<size_t>(batch.choices[i].begin), 0);
    types.resize(static_cast<size_t>(batch.source.rows.begin(static_cast<int>(i) + 1)), 1);
  }
  return types;
}

ModelConfig validated(const ModelConfig& config) {
  validate(config);
  return config;
}

/// For each row, the length of its sentence.
std::vector<int32_t> sentence_lengths(const Ragged& rows) {
  std::vector<int32_t> lengths;
  for (int i = 0; i < rows.sequences(); ++i)
    lengths.insert(lengths.end(), static_cast<size_t>(rows.length(i)), rows.length(i));
  return lengths;
}

/// For each target token, the length of its source, which is known while the target is generated.
std::vector<int32_t> source_lengths(std::span<const KeyValues> memory, size_t tokens) {
  std::vector<int32_t> lengths(tokens, 1);
  for (const AttentionSpan& span : memory.front().pattern->spans)
    std::fill_n(lengths.begin() + span.query_begin, span.query_count, std::max(span.key_count, 1));
  return lengths;
}

}  // namespace

Transformer::Transformer(const ModelConfig& config, std::shared_ptr<Backend> backend, DType dtype,
                         std::optional<uint64_t> seed, const MixerFactory& mixer)
    : config_(validated(config)),
      backend_(std::move(backend)),
      dtype_(dtype),
      builder_(backend_, dtype, seed, config.adapters),
      patches_(make_patches(builder_, config)),
      source_embedding_(make_source_embedding(builder_, config)),
      target_embedding_(make_target_embedding(builder_, config, source_embedding_)),
      encoder_(make_encoder(builder_, config, mixer)),
      decoder_(make_decoder(builder_, config, mixer)),
      head_(make_head(builder_, config, target_embedding_ ? target_embedding_ : source_embedding_)),
      positions_(config.separate_positions ? Tensor() : make_positions(builder_, config)),
      embed_source_(make_token_embedding(builder_, config, AttentionKind::encoder, positions_)),
      embed_target_(make_token_embedding(builder_, config, AttentionKind::decoder, positions_)),
      parameters_(builder_.take_parameters()),
      buffers_(builder_.take_buffers()) {}

std::vector<Parameter> Transformer::stored() const {
  std::vector<Parameter> all = parameters_;
  all.insert(all.end(), buffers_.begin(), buffers_.end());
  return all;
}

Tensor Transformer::encode(const IdBatch& source, const TokenRows& rows, Context& context,
                           AttentionObserver* observer) const {
  return encode(source, rows, /*types=*/{}, context, observer);
}

Tensor Transformer::encode(const IdBatch& source, const TokenRows& rows, std::span<const int32_t> types,
                           Context& context, AttentionObserver* observer) const {
  require(config_.has_encoder(), "encode: the model has no encoder");
  require(source.ids_per_row == config_.source_ids_per_row(),
          "encode: rows of {} ids for a model that reads {}", source.ids_per_row, config_.source_ids_per_row());
  check_ids(source.ids, config_.source_vocab, "source");
  WholeSequences sequences(rows.ragged, /*causal=*/false, context);
  LayerContext c{.context = context, .rows = rows, .state = sequences, .observer = observer};
  const auto lengths = embed_source_->needs_lengths() ? sentence_lengths(source.rows) : std::vector<int32_t>();
  const TokenEmbedding::PerToken tokens{lengths, types};
  const Tensor embedded =
      patches_ ? embed_source_->positioned((*patches_)(source.ids, rows, context), rows, tokens, context)
               : (*embed_source_)(source_embedding_, source.ids, rows, tokens, context);
  return (*encoder_)(embedded, c);
}

std::vector<KeyValues> Transformer::project_memory(const Tensor& encoder_output,
                                                   const std::shared_ptr<const ops::AttentionPattern>& pattern,
                                                   Context& context) const {
  require(config_.has_encoder() && config_.has_decoder(), "project_memory: the model has no {}",
          config_.has_encoder() ? "decoder" : "encoder");
  return decoder_->project_memory(encoder_output, pattern, context);
}

Tensor Transformer::decode(std::span<const int32_t> ids, const DecoderInput& input, Context& context,
                           AttentionObserver* observer) const {
  require(config_.has_decoder(), "decode: the model has no decoder");
  const int memories = config_.has_encoder() ? config_.decoder_layers : 0;
  require(std::ssize(input.memory) == memories,
          "decode: the encoder's output is given for {} layers, expected {}", input.memory.size(), memories);
  LayerContext c{.context = context,
                 .rows = input.rows,
                 .state = input.state,
                 .memory = input.memory,
                 .kind = AttentionKind::decoder,
                 .observer = observer};
  const auto lengths =
      embed_target_->needs_lengths() ? source_lengths(input.memory, ids.size()) : std::vector<int32_t>();
  const Tensor states =
      (*decoder_)((*embed_target_)(target_embedding_, ids, input.rows, {lengths, {}}, context), c);
  const bool complete = !observer || !observer->done();
  return config_.output_scale == 1 || !complete ? states
                                                : ops::scale(context, states, double{config_.output_scale});
}

Tensor Transformer::states(const Batch& batch, Context& context, AttentionObserver* observer) const {
  std::vector<KeyValues> memory;
  if (decoder_) check_ids(batch.target.ids, config_.target_vocab, "target", ModelConfig::zero_start);
  const TokenRows source = encoder_ ? context.token_rows(batch.source.rows, batch.samples) : TokenRows();
  const TokenRows target = decoder_ ? context.token_rows(batch.target.rows, batch.samples) : TokenRows();
  if (encoder_) {
    std::shared_ptr<const ops::AttentionPattern> pattern;
    if (decoder_)
      pattern = ops::attention_pattern(context, batch.target.rows, batch.source.rows, /*causal=*/false);
    const std::vector<int32_t> types = config_.token_types > 1 ? types_of(batch) : std::vector<int32_t>();
    Tensor encoded = encode(batch.source, source, types, context, observer);
    if (!decoder_ || (observer && observer->done())) return encoded;
    memory = project_memory(encoded, pattern, context);
  }
  WholeSequences sequences(batch.target.rows, /*causal=*/true, context);
  return decode(batch.target.ids, {target, sequences, memory}, context, observer);
}

Tensor Transformer::head_input(const Batch& batch, Context& context) const {
  return head_->input(states(batch, context), batch, context);
}

Tensor Transformer::loss(const Batch& batch, const ops::LossOptions& options, Context& context) const {
  GuidedAlignment guide(batch, config_.alignment_layer(), options.link_weight, options.scale);
  AttentionObserver* const observer = options.link_weight > 0 && !batch.links.empty() ? &guide : nullptr;
  const Tensor first = states(batch, context, observer);
  ops::LossOptions both = options;
  if (options.r_drop > 0) both.second = states(batch, context, observer);
  Tensor sum = head_->loss(first, batch, both, context);
  guide.add_to(sum, context.backend());
  return sum;
}

void Transformer::pack() {
  for (Parameter& parameter : parameters_) sixfold::pack(parameter, *backend_);
}

DType Transformer::key_value_dtype() const {
  const bool quantized = std::ranges::any_of(
      parameters_, [](const Parameter& parameter) { return parameter.tensor.dtype() == DType::i8; });
  return quantized ? DType::bf16 : dtype_;
}

void Transformer::discard_packed() {
  for (Parameter& parameter : parameters_) parameter.tensor.set_packed(nullptr);
}

namespace {

int64_t elements(std::span<const Parameter> tensors) {
  int64_t count = 0;
  for (const Parameter& tensor : tensors) count += tensor.tensor.size();
  return count;
}

Transformer model_without_memory(const ModelConfig& config) {
  return {config, std::make_shared<MetaBackend>(), DType::f32, /*seed=*/std::nullopt};
}

}  // namespace

int64_t parameter_count(const ModelConfig& config) {
  const Transformer model = model_without_memory(config);
  return elements(model.parameters());
}

int64_t buffer_count(const ModelConfig& config) { return elements(model_without_memory(config).buffers()); }

}  // namespace sixfold
