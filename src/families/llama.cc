#include "families/families.h"
#include "families/json/causal.h"
#include "tasks/language_model/settings.h"

// Llama and Mistral of Hugging Face. The meaning of keys and tensors is defined in transformers' configuration
// and modeling files of llama and mistral.

namespace sixfold {
namespace {

constexpr std::string_view llama_class = "LlamaForCausalLM";
constexpr int usual_context = 2048;

/// Without biases in attention, ours are zeros.
NameRules llama_rules(bool attention_bias) {
  const std::string theirs = "model.layers.*.", ours = "decoder.layers.*.";
  NameRules rules;
  if (!attention_bias) rules.push_back({"", {ours + "self_attn.*_proj.bias"}});
  const NameRule all[] = {
      {"model.embed_tokens.weight", {"decoder.embed_tokens.weight"}},
      {"lm_head.weight", {"output_projection.weight"}},
      {"lm_head.weight", {"decoder.embed_tokens.weight"}, {}, Holds::copy},
      {"model.norm.weight", {"decoder.layer_norm.weight"}},
      {theirs + "self_attn.q_proj.*", {ours + "self_attn.q_proj.*"}, {Step::rotate_halves}},
      {theirs + "self_attn.k_proj.*", {ours + "self_attn.k_proj.*"}, {Step::rotate_halves}},
      {theirs + "self_attn.v_proj.*", {ours + "self_attn.v_proj.*"}},
      {theirs + "self_attn.o_proj.*", {ours + "self_attn.out_proj.*"}},
      {theirs + "input_layernorm.weight", {ours + "self_attn_layer_norm.weight"}},
      {theirs + "post_attention_layernorm.weight", {ours + "final_layer_norm.weight"}},
      {theirs + "mlp.up_proj.*", {ours + "fc1.*"}},
      {theirs + "mlp.gate_proj.*", {ours + "fc_gate.*"}},
      {theirs + "mlp.down_proj.*", {ours + "fc2.*"}},
      {theirs + "self_attn.rotary_emb.inv_freq", {}, {}, Holds::nothing},  // constants
  };
  rules.insert(rules.end(), std::begin(all), std::end(all));
  return rules;
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

Architecture llama_architecture(const JsonKeys& keys) {
  Architecture a = causal_architecture();
  a.d_model = keys.size("hidden_size");
  a.heads = keys.size("num_attention_heads");
  a.kv_heads = keys.positive("num_key_value_heads", a.heads);
  a.d_k = a.d_v = keys.has("head_dim") ? keys.size("head_dim") : 0;
  a.d_ff = keys.size("intermediate_size");
  a.decoder_layers = keys.size("num_hidden_layers");
  a.positions = Positions::rotary;
  a.rotary_base = rotary_base(keys);
  a.activation = causal_activation(keys, "hidden_act", "silu");
  a.feed_forward_gate = true;
  a.feed_forward_bias = keys.get("mlp_bias", false);
  a.norm = Norm::rms;
  a.norm_epsilon = keys.get("rms_norm_eps", 1e-6f);
  a.tied_embeddings = keys.get("tie_word_embeddings", false) ? TiedEmbeddings::decoder : TiedEmbeddings::none;
  a.dropout = 0;
  a.attention_dropout = keys.get("attention_dropout", 0.0f);
  return a;
}

Imported read_llama(const ImportSource& source) {
  const JsonKeys keys(std::filesystem::path(source.path) / "config.json");
  CausalModel theirs{.usual = {.bos = 1, .eos = 2}};
  theirs.rules = llama_rules(keys.get("attention_bias", false));
  static_cast<Architecture&>(theirs.config) = llama_architecture(keys);
  theirs.config.context_tokens = keys.positive("max_position_embeddings", usual_context);
  return read_causal(source, keys, read_tensors(source.path), std::move(theirs));
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

/// A Llama with other defaults, and without biases.
Imported read_mistral(const ImportSource& source) {
  const JsonKeys keys(std::filesystem::path(source.path) / "config.json");
  CausalModel theirs{.usual = {.bos = 1, .eos = 2}};
  theirs.rules = llama_rules(/*attention_bias=*/false);
  static_cast<Architecture&>(theirs.config) = llama_architecture(keys);
  if (!keys.names("num_key_value_heads")) theirs.config.kv_heads = 8;
  theirs.config.context_tokens = keys.positive("max_position_embeddings", 131072);
  require_full_attention(keys, theirs.config.context_tokens);
  return read_causal(source, keys, read_tensors(source.path), std::move(theirs));
}

bool has_attention_bias(const Transformer& model) {
  return std::ranges::any_of(model.parameters(), [&](const Parameter& p) {
    return p.name.ends_with("_proj.bias") &&
           std::ranges::any_of(p.tensor.to_floats(*model.backend()), [](float x) { return x != 0; });
  });
}

Exported write_llama(const ExportSource& source, const std::string& folder) {
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, llama_class, difference);
  };
  ModelConfig c = exported_causal_config(source.model.config());
  need(c.norm == Norm::rms, fmt::format("its norm is '{}'", name_of_enum(c.norm)));
  need(c.feed_forward_gate, "its feed-forward layers have no gate");
  need(c.key_width() == c.value_width(), "its heads have other widths or numbers");
  check_causal_model(source, llama_class);
  c.context_tokens = c.context_tokens > 0 ? c.context_tokens : usual_context;
  c.dropout = 0;  // it has no such key
  const bool attention_bias = has_attention_bias(source.model);
  return write_causal(
      source, folder, llama_class, {c, llama_rules(attention_bias)},
      {{"model_type", "llama"},
       {"hidden_size", c.d_model},
       {"num_attention_heads", c.heads},
       {"num_key_value_heads", c.key_value_heads()},
       {"head_dim", c.key_width()},
       {"intermediate_size", c.d_ff},
       {"num_hidden_layers", c.decoder_layers},
       {"max_position_embeddings", c.context_tokens},
       {"hidden_act", causal_activation_name(c.activation)},
       {"rms_norm_eps", as_written(c.norm_epsilon)},
       {"rope_theta", as_written(c.rotary_base)},
       {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", as_written(c.rotary_base)}}},
       {"attention_bias", attention_bias},
       {"mlp_bias", c.feed_forward_bias},
       {"attention_dropout", as_written(c.attention_dropout)}});
}

}  // namespace

Family llama_family() {
  return {.program = &hugging_face,
          .name = "llama",
          .class_name = llama_class,
          .title = "Llama",
          .recognises = has_model_type,
          .read = read_llama,
          .exports = "language models with rotary positions",
          .takes =
              [](const ModelConfig& c) {
                return c.task == LanguageModelSettings::task && c.positions == Positions::rotary;
              },
          .write = write_llama};
}

Family mistral_family() {
  return {.program = &hugging_face,
          .name = "mistral",
          .class_name = "MistralForCausalLM",
          .title = "Mistral",
          .recognises = has_model_type,
          .read = read_mistral};
}

}  // namespace sixfold
