#include "families/families.h"
#include "families/json/causal.h"
#include "families/json/rope.h"
#include "tasks/language_model/settings.h"

// GPT-NeoX of Hugging Face, which is also the architecture of Pythia. The meaning of keys and tensors is
// defined in transformers' configuration_gpt_neox.py and modeling_gpt_neox.py.

namespace sixfold {
namespace {

constexpr std::string_view neox_class = "GPTNeoXForCausalLM";
constexpr RopeKeys neox_rope{.base = "rotary_emb_base", .share = "rotary_pct", .default_share = 0.25f};
constexpr int default_context = 2048;

/// The rows of queries, keys and values are one tensor, head by head.
NameRules neox_rules() {
  const std::string theirs = "gpt_neox.layers.*.", ours = "decoder.layers.*.", attention = ours + "self_attn.";
  return {
      {"gpt_neox.embed_in.weight", {"decoder.embed_tokens.weight"}},
      {"embed_out.weight", {"output_projection.weight"}},
      {"embed_out.weight", {"decoder.embed_tokens.weight"}, {}, Holds::copy},
      {"gpt_neox.final_layer_norm.*", {"decoder.layer_norm.*"}},
      {.theirs = theirs + "attention.query_key_value.*",
       .ours = {attention + "q_proj.*", attention + "k_proj.*", attention + "v_proj.*"},
       .steps = {Step::rotate_halves},
       .fused = Fused::by_head},
      {theirs + "attention.dense.*", {attention + "out_proj.*"}},
      {theirs + "input_layernorm.*", {ours + "self_attn_layer_norm.*"}},
      {theirs + "post_attention_layernorm.*", {ours + "final_layer_norm.*"}},
      {theirs + "mlp.dense_h_to_4h.*", {ours + "fc1.*"}},
      {theirs + "mlp.dense_4h_to_h.*", {ours + "fc2.*"}},
      {theirs + "attention.bias", {}, {}, Holds::nothing},  // masks and wavelengths, which are constants
      {theirs + "attention.masked_bias", {}, {}, Holds::nothing},
      {theirs + "attention.rotary_emb.inv_freq", {}, {}, Holds::nothing},
  };
}

ModelConfig neox_config(const JsonKeys& keys) {
  ModelConfig c;
  static_cast<Architecture&>(c) = causal_architecture();
  c.d_model = keys.size("hidden_size");
  c.heads = keys.size("num_attention_heads");
  c.d_ff = keys.size("intermediate_size");
  c.decoder_layers = keys.size("num_hidden_layers");
  c.context_tokens = keys.positive("max_position_embeddings", default_context);
  c.attention_bias = keys.get("attention_bias", true);
  c.parallel_residual = keys.get("use_parallel_residual", true);
  require(c.d_model % c.heads == 0, "{}: hidden_size {} is not divisible by num_attention_heads {}",
          keys.path(), c.d_model, c.heads);
  read_rope(keys, neox_rope, c);
  c.activation = causal_activation(keys, "hidden_act", "gelu");
  c.norm_epsilon = keys.get("layer_norm_eps", 1e-5f);
  c.tied_embeddings = keys.get("tie_word_embeddings", false) ? TiedEmbeddings::decoder : TiedEmbeddings::none;
  c.dropout = keys.get("hidden_dropout", 0.0f);
  c.attention_dropout = keys.get("attention_dropout", 0.0f);
  return c;
}

Imported read_neox(const ImportSource& source) {
  const JsonKeys keys(std::filesystem::path(source.path) / "config.json");
  const CausalModel theirs{neox_config(keys), neox_rules(), {.bos = 0, .eos = 2}};
  return read_causal(source, keys, with_prefix(read_tensors(source.path), theirs.rules, "gpt_neox."), theirs);
}

Exported write_neox(const ExportSource& source, const std::string& folder) {
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, neox_class, difference);
  };
  ModelConfig c = exported_causal_config(source.model.config());
  need(c.norm == Norm::layer, fmt::format("its norm is '{}'", name_of_enum(c.norm)));
  need(!c.feed_forward_gate && c.feed_forward_bias, "its feed-forward layers have a gate or no biases");
  need(c.decoder_mixer == MixerKind::attention, "its decoder_mixer is not 'attention'");
  need_even_heads(source, neox_class);
  check_causal_model(source, neox_class,
                     {"attention_bias", "parallel_residual", "rotary_features", "rotary_scaling"});
  c.context_tokens = c.context_tokens > 0 ? c.context_tokens : default_context;
  nlohmann::ordered_json rope = rope_json(c);
  rope["partial_rotary_factor"] = static_cast<double>(c.rotated_features()) / c.key_width();
  return write_causal(source, folder, neox_class, {c, neox_rules()},
                      {{"model_type", "gpt_neox"},
                       {"hidden_size", c.d_model},
                       {"num_attention_heads", c.heads},
                       {"intermediate_size", c.d_ff},
                       {"num_hidden_layers", c.decoder_layers},
                       {"max_position_embeddings", c.context_tokens},
                       {"hidden_act", causal_activation_name(c.activation)},
                       {"layer_norm_eps", shortest_decimal(c.norm_epsilon)},
                       {"use_parallel_residual", c.parallel_residual},
                       {"attention_bias", c.attention_bias},
                       {"rotary_pct", rope["partial_rotary_factor"]},
                       {"rotary_emb_base", shortest_decimal(c.rotary_base)},
                       {"rope_parameters", rope},
                       {"hidden_dropout", shortest_decimal(c.dropout)},
                       {"attention_dropout", shortest_decimal(c.attention_dropout)}});
}

}  // namespace

Family gpt_neox_family() {
  return {.program = &hugging_face,
          .name = "gpt_neox",
          .class_name = neox_class,
          .title = "GPT-NeoX",
          .recognizes = has_model_type,
          .read = read_neox,
          .exports = "language models with rotary positions and LayerNorm",
          .takes =
              [](const ModelConfig& c) {
                return c.task == LanguageModelSettings::task && c.positions == Positions::rotary &&
                       c.norm == Norm::layer;
              },
          .write = write_neox};
}

}  // namespace sixfold
