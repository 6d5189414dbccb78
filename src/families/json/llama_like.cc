#include "families/json/llama_like.h"

#include <algorithm>
#include <iterator>

#include "families/json/rope.h"
#include "tasks/language_model/settings.h"

namespace sixfold {
namespace {

/// If attention has biases, but none in its output projection, that bias of ours is zero.
NameRules llama_rules(const LlamaKind& kind, AttentionBiases biases) {
  const std::string theirs = "model.layers.*.", ours = "decoder.layers.*.", attention = ours + "self_attn.";
  NameRules rules;
  if (biases == AttentionBiases::query_key_value) rules.push_back({"", {attention + "out_proj.bias"}});
  const NameRule separate[] = {
      {theirs + "self_attn.q_proj.*", {attention + "q_proj.*"}, {Step::rotate_halves}},
      {theirs + "self_attn.k_proj.*", {attention + "k_proj.*"}, {Step::rotate_halves}},
      {theirs + "self_attn.v_proj.*", {attention + "v_proj.*"}},
      {theirs + "mlp.up_proj.*", {ours + "fc1.*"}},
      {theirs + "mlp.gate_proj.*", {ours + "fc_gate.*"}},
  };
  const NameRule fused[] = {
      {theirs + "self_attn.qkv_proj.*",
       {attention + "q_proj.*", attention + "k_proj.*", attention + "v_proj.*"},
       {Step::rotate_halves}},
      {theirs + "mlp.gate_up_proj.*", {ours + "fc_gate.*", ours + "fc1.*"}},
  };
  if (kind.fused)
    rules.insert(rules.end(), std::begin(fused), std::end(fused));
  else
    rules.insert(rules.end(), std::begin(separate), std::end(separate));
  const NameRule rest[] = {
      {"model.embed_tokens.weight", {"decoder.embed_tokens.weight"}},
      {"lm_head.weight", {"output_projection.weight"}},
      {"lm_head.weight", {"decoder.embed_tokens.weight"}, {}, Holds::copy},
      {"model.norm.weight", {"decoder.layer_norm.weight"}},
      {theirs + "self_attn.q_norm.weight", {attention + "q_norm.weight"}, {Step::rotate_halves}},
      {theirs + "self_attn.k_norm.weight", {attention + "k_norm.weight"}, {Step::rotate_halves}},
      {theirs + "self_attn.o_proj.*", {attention + "out_proj.*"}},
      {theirs + "input_layernorm.weight", {ours + "self_attn_layer_norm.weight"}},
      {theirs + "post_attention_layernorm.weight", {ours + "final_layer_norm.weight"}},
      {theirs + "mlp.down_proj.*", {ours + "fc2.*"}},
      {theirs + "self_attn.rotary_emb.inv_freq", {}, {}, Holds::nothing},  // constants
  };
  rules.insert(rules.end(), std::begin(rest), std::end(rest));
  return rules;
}

AttentionBiases biases_of(const JsonKeys& keys, const LlamaKind& kind) {
  if (kind.biases != AttentionBiases::as_config_says) return kind.biases;
  return keys.get("attention_bias", false) ? AttentionBiases::all : AttentionBiases::none;
}

ModelConfig config_of(const JsonKeys& keys, const LlamaKind& kind) {
  ModelConfig c;
  static_cast<Architecture&>(c) = causal_architecture();
  c.d_model = keys.size("hidden_size");
  c.heads = keys.size("num_attention_heads");
  const int default_kv_heads = kind.kv_heads && !keys.names("num_key_value_heads") ? kind.kv_heads : c.heads;
  c.kv_heads = keys.positive("num_key_value_heads", default_kv_heads);
  const int head_dim = kind.head_dim && !keys.names("head_dim") ? kind.head_dim : 0;
  c.d_k = c.d_v = keys.has("head_dim") ? keys.size("head_dim") : head_dim;
  c.d_ff = keys.size("intermediate_size");
  c.decoder_layers = keys.size("num_hidden_layers");
  c.context_tokens = keys.positive("max_position_embeddings", kind.context);
  c.attention_bias = biases_of(keys, kind) != AttentionBiases::none;
  c.query_key_norm = kind.query_key_norm;
  read_rope(keys, {.share = kind.partly_rotated ? RopeKeys().share : nullptr}, c);
  if (kind.window) set_window(kind.window(keys, c.context_tokens), keys.path() + ": sliding_window", c);
  c.activation = causal_activation(keys, "hidden_act", "silu");
  c.feed_forward_gate = true;
  c.feed_forward_bias = kind.feed_forward_biases && keys.get("mlp_bias", false);
  c.norm = Norm::rms;
  c.norm_epsilon = keys.get("rms_norm_eps", kind.fused ? 1e-5f : 1e-6f);
  c.tied_embeddings = keys.get("tie_word_embeddings", false) ? TiedEmbeddings::decoder : TiedEmbeddings::none;
  c.dropout = kind.fused ? keys.get("resid_pdrop", 0.0f) : 0;
  c.attention_dropout = keys.get("attention_dropout", 0.0f);
  return c;
}

/// The projections whose biases are not zero.
AttentionBiases biases_of(const Transformer& model) {
  if (!model.config().attention_bias) return AttentionBiases::none;
  const auto is_used = [&](std::string_view end) {
    return std::ranges::any_of(model.parameters(), [&](const Parameter& p) {
      return p.name.ends_with(end) &&
             std::ranges::any_of(p.tensor.to_floats(*model.backend()), [](float x) { return x != 0; });
    });
  };
  if (is_used("out_proj.bias")) return AttentionBiases::all;
  return is_used("_proj.bias") ? AttentionBiases::query_key_value : AttentionBiases::none;
}

/// The biases that are written for a model of a family.
AttentionBiases written_biases(const ExportSource& source, const LlamaKind& kind) {
  const AttentionBiases used = biases_of(source.model);
  if (kind.biases == AttentionBiases::as_config_says)
    return used == AttentionBiases::none ? AttentionBiases::none : AttentionBiases::all;
  source.need(used == AttentionBiases::none || used == kind.biases, kind.class_name,
              "other projections of its attention have biases");
  return kind.biases;
}

void write_window(const ModelConfig& c, const LlamaKind& kind, nlohmann::ordered_json& keys) {
  if (!kind.window) return;
  const bool used = c.decoder_mixer == MixerKind::restricted_attention;
  keys["sliding_window"] = nullptr;
  if (used) keys["sliding_window"] = c.attention_window + 1;
  if (!kind.window_by_layers) return;
  keys["use_sliding_window"] = used;
  keys["max_window_layers"] = used ? 0 : c.decoder_layers;
}

}  // namespace

bool is_llama_like(const ModelConfig& c) {
  return c.task == LanguageModelSettings::task && c.positions == Positions::rotary && c.norm != Norm::layer &&
         !c.parallel_residual;
}

int sliding_window(const JsonKeys& keys, int default_value) {
  return keys.names("sliding_window") ? keys.count("sliding_window", 0) : default_value;
}

Imported read_llama_like(const ImportSource& source, const LlamaKind& kind) {
  const JsonKeys keys(std::filesystem::path(source.path) / "config.json");
  const CausalModel theirs{config_of(keys, kind), llama_rules(kind, biases_of(keys, kind)), kind.default_ids};
  return read_causal(source, keys, with_prefix(read_tensors(source.path), theirs.rules, "model."), theirs);
}

Exported write_llama_like(const ExportSource& source, const std::string& folder, const LlamaKind& kind) {
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, kind.class_name, difference);
  };
  ModelConfig c = exported_causal_config(source.model.config());
  need(c.norm == Norm::rms, fmt::format("its norm is '{}'", name_of_enum(c.norm)));
  need(c.feed_forward_gate, "its feed-forward layers have no gate");
  need(c.key_width() == c.value_width(), "its heads have other widths or numbers");
  need(kind.feed_forward_biases || !c.feed_forward_bias, "its feed-forward layers have biases");
  need(kind.partly_rotated || c.rotary_features == 0, "only a part of the features of its heads is rotated");
  const RotaryScalingKind scaling = c.rotary_scaling.kind;
  need(!kind.fused || scaling == RotaryScalingKind::none || scaling == RotaryScalingKind::factors,
       fmt::format("its rotary_scaling is '{}'", name_of_enum(scaling)));
  check_causal_model(source, kind.class_name,
                     {"query_key_norm", "rotary_features", "rotary_scaling", "attention_bias"});
  const bool restricted = c.decoder_mixer == MixerKind::restricted_attention;
  need(!restricted || kind.window, "its decoder_mixer is 'restricted_attention'");
  c.context_tokens = c.context_tokens > 0 ? c.context_tokens : kind.context;
  if (restricted && c.attention_window + 1 >= c.context_tokens)  // the window covers a whole text
    c.decoder_mixer = MixerKind::attention, c.attention_window = Architecture().attention_window;
  if (!kind.fused) c.dropout = 0;  // the family has no key for it
  const AttentionBiases biases = written_biases(source, kind);
  c.attention_bias = biases != AttentionBiases::none;
  nlohmann::ordered_json keys{{"model_type", kind.type},
                              {"hidden_size", c.d_model},
                              {"num_attention_heads", c.heads},
                              {"num_key_value_heads", c.key_value_heads()},
                              {"head_dim", c.key_width()},
                              {"intermediate_size", c.d_ff},
                              {"num_hidden_layers", c.decoder_layers},
                              {"max_position_embeddings", c.context_tokens},
                              {"hidden_act", causal_activation_name(c.activation)},
                              {"rms_norm_eps", shortest_decimal(c.norm_epsilon)},
                              {"rope_theta", shortest_decimal(c.rotary_base)},
                              {"rope_parameters", rope_json(c)}};
  if (kind.biases == AttentionBiases::as_config_says) keys["attention_bias"] = c.attention_bias;
  if (kind.feed_forward_biases) keys["mlp_bias"] = c.feed_forward_bias;
  if (kind.fused) {
    keys["resid_pdrop"] = shortest_decimal(c.dropout);
    keys["pad_token_id"] = c.eos;  // the default is an id of the vocabulary of Phi-3
    keys["original_max_position_embeddings"] = c.context_tokens;
  }
  write_window(c, kind, keys);
  keys["attention_dropout"] = shortest_decimal(c.attention_dropout);
  return write_causal(source, folder, kind.class_name, {c, llama_rules(kind, biases)}, keys);
}

}  // namespace sixfold
