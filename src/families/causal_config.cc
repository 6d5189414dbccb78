#include "families/causal_config.h"

#include "base/error.h"
#include "families/json/keys.h"

// The meaning of keys is defined in transformers' configuration files of gpt2, llama and mistral.

namespace sixfold {
namespace {

/// What both kinds have in common: a decoder with norms before its sub-layers.
Architecture causal_architecture() {
  Architecture a;
  a.encoder_layers = 0;
  a.preprocess = {ProcessStep::norm};
  a.postprocess = {ProcessStep::dropout, ProcessStep::add};
  a.postprocess_top = {ProcessStep::norm};
  a.embedding_scale = false;
  return a;
}

Activation activation_of(const JsonKeys& keys, const char* key, const std::string& usual) {
  const std::string name = keys.get<std::string>(key, usual);
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::tanh_gelu;
  if (name == "silu" || name == "swish") return Activation::swish;
  if (name == "relu") return Activation::relu;
  if (name == "quick_gelu") return Activation::sigmoid_gelu;
  require(name == "gelu", "{}: {} is {}; only gelu_new, gelu, quick_gelu, relu and silu are supported",
          keys.path(), key, name);
  return Activation::gelu;
}

Architecture gpt2_architecture(const JsonKeys& keys) {
  keys.require_is("scale_attn_weights", true, true);
  for (const char* key : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"})
    keys.require_is(key, false, false);
  Architecture a = causal_architecture();
  a.d_model = keys.size("n_embd");
  a.heads = keys.size("n_head");
  a.d_ff = keys.positive("n_inner", 4 * int64_t{a.d_model});
  a.decoder_layers = keys.size("n_layer");
  a.positions = Positions::learned;
  a.max_positions = keys.size("n_positions");
  a.beyond_positions = BeyondPositions::error;
  a.activation = activation_of(keys, "activation_function", "gelu_new");
  a.norm_epsilon = keys.get("layer_norm_epsilon", 1e-5f);
  a.tied_embeddings = keys.get("tie_word_embeddings", true) ? TiedEmbeddings::decoder : TiedEmbeddings::none;
  a.dropout = keys.get("resid_pdrop", 0.1f);
  a.attention_dropout = keys.get("attn_pdrop", 0.1f);
  return a;
}

/// The base of the rotation, which older folders have as rope_theta, newer ones in rope_parameters.
float rotary_base(const JsonKeys& keys) {
  const float base = keys.get("rope_theta", 10000.0f);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!keys.has(key)) continue;
    const nlohmann::json& rope = keys.at(key);
    require(rope.is_object(), "{}: {} is not an object", keys.path(), key);
    const auto kind = rope.value("rope_type", rope.value("type", nlohmann::json("default")));
    require(kind == "default", "{}: {} has the type {}; only unscaled rotary positions are supported",
            keys.path(), key, kind.dump());
    const auto theta = rope.value("rope_theta", nlohmann::json());
    require(theta.is_null() || theta.is_number(), "{}: {}.rope_theta is {}; it must be a number", keys.path(),
            key, theta.dump());
    if (theta.is_number()) return theta.get<float>();
  }
  return base;
}

/// Throws an input error if attention reaches less far back than the longest text. Without the key a Mistral
/// has a window of 4096 tokens; null means none. Other models do not read it.
void require_full_attention(const JsonKeys& keys, int context) {
  const int window = keys.names("sliding_window") ? keys.positive("sliding_window", context) : 4096;
  require(
      window >= context,
      "{}: sliding_window is {}{}, but max_position_embeddings is {}; only full attention is supported: if the "
      "model was trained without a window, set sliding_window to null",
      keys.path(), window, keys.names("sliding_window") ? "" : " if the key is missing", context);
}

Architecture llama_architecture(const JsonKeys& keys, bool mistral) {
  Architecture a = causal_architecture();
  a.d_model = keys.size("hidden_size");
  a.heads = keys.size("num_attention_heads");
  const bool usual_heads = mistral && !keys.names("num_key_value_heads");
  a.kv_heads = usual_heads ? 8 : keys.positive("num_key_value_heads", a.heads);
  a.d_k = a.d_v = keys.has("head_dim") ? keys.size("head_dim") : 0;
  a.d_ff = keys.size("intermediate_size");
  a.decoder_layers = keys.size("num_hidden_layers");
  a.positions = Positions::rotary;
  a.rotary_base = rotary_base(keys);
  a.activation = activation_of(keys, "hidden_act", "silu");
  a.feed_forward_gate = true;
  a.feed_forward_bias = keys.get("mlp_bias", false);
  a.norm = Norm::rms;
  a.norm_epsilon = keys.get("rms_norm_eps", 1e-6f);
  a.tied_embeddings = keys.get("tie_word_embeddings", false) ? TiedEmbeddings::decoder : TiedEmbeddings::none;
  a.dropout = 0;
  a.attention_dropout = keys.get("attention_dropout", 0.0f);
  return a;
}

/// Describes the keys of the config in the names of Sixfold, which the messages of `validate` have.
void validate_as(const Architecture& a, const JsonKeys& keys) {
  try {
    validate(a);
  } catch (const Error& error) {
    throw_input_error("{}: the model that it describes can't be built; in the names of a config of Sixfold: {}",
                      keys.path(), error.what());
  }
}

}  // namespace

CausalConfig causal_config_of(const JsonKeys& keys) {
  const auto type = keys.get<std::string>("model_type", "");
  CausalConfig config;
  if (type == "gpt2") {
    config.gpt2 = true;
    config.architecture = gpt2_architecture(keys);
    config.context_tokens = config.architecture.max_positions;
    config.usual = {.bos = 50256, .eos = 50256};
  } else {
    const bool mistral = type == "mistral";
    config.architecture = llama_architecture(keys, mistral);
    config.attention_bias = !mistral && keys.get("attention_bias", false);
    config.context_tokens = keys.positive("max_position_embeddings", mistral ? 131072 : 2048);
    config.usual = {.bos = 1, .eos = 2};
    if (mistral) require_full_attention(keys, config.context_tokens);
  }
  validate_as(config.architecture, keys);
  return config;
}

}  // namespace sixfold
