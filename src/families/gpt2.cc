#include "families/families.h"
#include "families/json/causal.h"
#include "tasks/language_model/settings.h"

// GPT-2 of Hugging Face. The meaning of keys and tensors is defined in transformers' configuration_gpt2.py and
// modeling_gpt2.py. The weights of its linear layers are [in, out].

namespace sixfold {
namespace {

constexpr std::string_view gpt2_class = "GPT2LMHeadModel";

NameRules gpt2_rules() {
  const std::string prefix = "transformer.", theirs = prefix + "h.*.", ours = "decoder.layers.*.";
  const auto attention = [&](const char* part) {
    return std::vector{ours + "self_attn.q_proj." + part, ours + "self_attn.k_proj." + part,
                       ours + "self_attn.v_proj." + part};
  };
  return {
      {prefix + "wte.weight", {"decoder.embed_tokens.weight"}},
      {"lm_head.weight", {"output_projection.weight"}},
      {"lm_head.weight", {"decoder.embed_tokens.weight"}, {}, Holds::copy},
      {prefix + "wpe.weight", {"embed_positions.weight"}},
      {prefix + "ln_f.*", {"decoder.layer_norm.*"}},
      {theirs + "attn.c_attn.weight", attention("weight"), {Step::transpose}},
      {theirs + "attn.c_attn.bias", attention("bias")},
      {theirs + "attn.c_proj.weight", {ours + "self_attn.out_proj.weight"}, {Step::transpose}},
      {theirs + "attn.c_proj.bias", {ours + "self_attn.out_proj.bias"}},
      {theirs + "mlp.c_fc.weight", {ours + "fc1.weight"}, {Step::transpose}},
      {theirs + "mlp.c_fc.bias", {ours + "fc1.bias"}},
      {theirs + "mlp.c_proj.weight", {ours + "fc2.weight"}, {Step::transpose}},
      {theirs + "mlp.c_proj.bias", {ours + "fc2.bias"}},
      {theirs + "ln_1.*", {ours + "self_attn_layer_norm.*"}},
      {theirs + "ln_2.*", {ours + "final_layer_norm.*"}},
      {theirs + "attn.bias", {}, {}, Holds::nothing},  // masks, which are constants
      {theirs + "attn.masked_bias", {}, {}, Holds::nothing},
  };
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
  a.activation = causal_activation(keys, "activation_function", "gelu_new");
  a.norm_epsilon = keys.get("layer_norm_epsilon", 1e-5f);
  a.tied_embeddings = keys.get("tie_word_embeddings", true) ? TiedEmbeddings::decoder : TiedEmbeddings::none;
  a.dropout = keys.get("resid_pdrop", 0.1f);
  a.attention_dropout = keys.get("attn_pdrop", 0.1f);
  return a;
}

Imported read_gpt2(const ImportSource& source) {
  const std::filesystem::path folder(source.path);
  const JsonKeys keys(folder / "config.json");
  CausalModel theirs{.default_ids = {.bos = 50256, .eos = 50256}};
  static_cast<Architecture&>(theirs.config) = gpt2_architecture(keys);
  theirs.config.context_tokens = theirs.config.max_positions;
  theirs.rules = gpt2_rules();
  const TensorMap tensors = with_prefix(read_tensors(folder), theirs.rules, "transformer.");
  return read_causal(source, keys, tensors, std::move(theirs));
}

Exported write_gpt2(const ExportSource& source, const std::string& folder) {
  ModelConfig c = exported_causal_config(source.model.config());
  const auto need = [&](bool condition, const std::string& difference) {
    source.need(condition, gpt2_class, difference);
  };
  need(c.norm == Norm::layer, fmt::format("its norm is '{}'", name_of_enum(c.norm)));
  need(!c.feed_forward_gate && c.feed_forward_bias, "its feed-forward layers have a gate or no biases");
  need_even_heads(source, gpt2_class);
  need(c.decoder_mixer == MixerKind::attention, "its decoder_mixer is not 'attention'");
  check_causal_model(source, gpt2_class, {"attention_bias"});
  c.attention_bias = true;  // biases that the model does not have are written as zeros
  // Only the positions that the model was trained with are exported; its table may have more rows.
  c.max_positions = c.context_tokens > 0 ? std::min(c.context_tokens, c.max_positions) : c.max_positions;
  c.context_tokens = c.max_positions;
  c.beyond_positions = BeyondPositions::error;
  return write_causal(source, folder, gpt2_class, {c, gpt2_rules()},
                      {{"model_type", "gpt2"},
                       {"n_embd", c.d_model},
                       {"n_head", c.heads},
                       {"n_inner", c.d_ff},
                       {"n_layer", c.decoder_layers},
                       {"n_positions", c.max_positions},
                       {"activation_function", causal_activation_name(c.activation)},
                       {"layer_norm_epsilon", shortest_decimal(c.norm_epsilon)},
                       {"embd_pdrop", shortest_decimal(c.dropout)},
                       {"resid_pdrop", shortest_decimal(c.dropout)},
                       {"attn_pdrop", shortest_decimal(c.attention_dropout)}});
}

}  // namespace

Family gpt2_family() {
  return {.program = &hugging_face,
          .name = "gpt2",
          .class_name = gpt2_class,
          .title = "GPT-2",
          .recognizes = has_model_type,
          .read = read_gpt2,
          .exports = "language models with learned positions",
          .takes =
              [](const ModelConfig& c) {
                return c.task == LanguageModelSettings::task && c.positions == Positions::learned;
              },
          .write = write_gpt2};
}

}  // namespace sixfold
