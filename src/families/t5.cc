#include <cmath>
#include <set>

#include "families/families.h"
#include "families/json/causal.h"
#include "families/json/seq2seq.h"
#include "text/sentence_piece.h"

// T5, mT5 and FLAN-T5 of Hugging Face. The meaning of keys and tensors is defined in transformers'
// configuration and modeling files of t5 and mt5.

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view t5_class = "T5ForConditionalGeneration", mt5_class = "MT5ForConditionalGeneration";
constexpr int t5_pad = 0;

NameRules stack_rules(const std::string& stack) {
  const bool decoder = stack == "decoder";
  const std::string theirs = stack + ".block.*.layer.", ours = stack + ".layers.*.";
  NameRules rules{
      {stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",
       {stack + ".relative_attention_bias.weight"}},
      {stack + ".final_layer_norm.weight", {stack + ".layer_norm.weight"}},
      {theirs + "0.layer_norm.weight", {ours + "self_attn_layer_norm.weight"}},
  };
  const auto attention = [&](const std::string& place, const std::string& name) {
    for (const char* part : {"q", "k", "v"})
      rules.push_back({theirs + place + "." + part + ".weight", {ours + name + "." + part + "_proj.weight"}});
    rules.push_back({theirs + place + ".o.weight", {ours + name + ".out_proj.weight"}});
  };
  attention("0.SelfAttention", "self_attn");
  if (decoder) {
    attention("1.EncDecAttention", "encoder_attn");
    rules.push_back({theirs + "1.layer_norm.weight", {ours + "encoder_attn_layer_norm.weight"}});
    // A table that the original implementation wrote and never used.
    rules.push_back({theirs + "1.EncDecAttention.relative_attention_bias.weight", {}, {}, Holds::nothing});
  }
  const std::string last = theirs + (decoder ? "2." : "1.");
  rules.push_back({last + "layer_norm.weight", {ours + "final_layer_norm.weight"}});
  rules.push_back({last + "DenseReluDense.wi_0.weight", {ours + "fc_gate.weight"}});
  rules.push_back({last + "DenseReluDense.wo.weight", {ours + "fc2.weight"}});
  return rules;
}

/// The tensor of the first map of a feed-forward network is named after whether there is a gate. If the output
/// is tied to the embedding, a copy of the embedding is written as the output layer too, since without it
/// readers would scale the input of the output layer.
NameRules t5_rules(const Architecture& a) {
  NameRules rules = stack_rules("encoder"), decoder = stack_rules("decoder");
  rules.insert(rules.end(), decoder.begin(), decoder.end());
  const std::string first = a.feed_forward_gate ? "wi_1" : "wi";
  for (const auto& [stack, place] : {std::pair("encoder", 1), std::pair("decoder", 2)})
    rules.push_back({fmt::format("{}.block.*.layer.{}.DenseReluDense.{}.weight", stack, place, first),
                     {fmt::format("{}.layers.*.fc1.weight", stack)}});
  rules.push_back({"shared.weight", {"shared.weight"}});
  rules.push_back({"lm_head.weight", {"output_projection.weight"}});
  rules.push_back({"encoder.embed_tokens.weight", {"shared.weight"}, {}, Holds::copy});
  rules.push_back({"decoder.embed_tokens.weight", {"shared.weight"}, {}, Holds::copy});
  rules.push_back({"lm_head.weight", {"shared.weight"}, {}, Holds::written_copy});
  return rules;
}

/// "gated-gelu" means a gate and the tanh approximation of GELU.
void set_feed_forward(const JsonKeys& keys, Architecture& a) {
  const std::string kind = keys.get<std::string>("feed_forward_proj", "relu");
  a.feed_forward_gate = kind.starts_with("gated-");
  const std::string name = kind == "gated-gelu" ? "gelu_new" : a.feed_forward_gate ? kind.substr(6) : kind;
  keys.require_is<std::string>("dense_act_fn", name, name);  // which old folders do not have
  keys.require_is("is_gated_act", a.feed_forward_gate, a.feed_forward_gate);
  const JsonKeys one(keys.path(), nlohmann::json{{"feed_forward_proj", name}}.dump());
  a.activation = causal_activation(one, "feed_forward_proj", "relu");
}

/// Whether the output layer has weights of its own: transformers reads those that differ from the embedding.
bool has_own_output(const TensorMap& tensors, const NameRules& rules) {
  return tensors.find("lm_head.weight") &&
         matrix_of(tensors, "lm_head.weight").values !=
             matrix_of(tensors, stored_name(tensors, rules, "shared.weight")).values;
}

Architecture t5_architecture(const JsonKeys& keys, bool scales) {
  Architecture a;
  a.d_model = keys.size("d_model");
  a.heads = keys.positive("num_heads", 8);
  a.d_k = a.d_v = keys.positive("d_kv", 64);
  a.d_ff = keys.positive("d_ff", 2048);
  a.encoder_layers = keys.positive("num_layers", 6);
  a.decoder_layers = keys.positive("num_decoder_layers", a.encoder_layers);
  a.attention_bias = false;
  a.attention_score = AttentionScore::dot;
  a.positions = Positions::t5;
  a.position_buckets = keys.positive("relative_attention_num_buckets", 32);
  a.position_distance = keys.positive("relative_attention_max_distance", 128);
  set_feed_forward(keys, a);
  a.feed_forward_bias = false;
  a.norm = Norm::rms;
  a.norm_epsilon = keys.get("layer_norm_epsilon", 1e-6f);
  a.preprocess = {ProcessStep::norm};
  a.postprocess = {ProcessStep::dropout, ProcessStep::add};
  a.postprocess_top = {ProcessStep::norm, ProcessStep::dropout};
  a.embedding_scale = false;
  const bool scaled = keys.get("scale_decoder_outputs", keys.get("tie_word_embeddings", true));
  if (scales && scaled) a.output_scale = 1 / std::sqrt(static_cast<float>(a.d_model));
  a.dropout = a.attention_dropout = a.activation_dropout = keys.get("dropout_rate", 0.1f);
  return a;
}

/// Reads a SentencePiece model. Its pieces are followed by those of masked spans, in descending order.
Seq2SeqTokenizer read_t5_tokenizer(const fs::path& folder, int rows, int /*eos*/) {
  const fs::path path = folder / "spiece.model", config = folder / "tokenizer_config.json";
  require(fs::exists(path), "{}: has no tokenizer; expected tokenizer.json or spiece.model", folder.string());
  const std::string model = read_regular_file(path);
  const JsonKeys keys = JsonKeys::of_optional(config);
  std::vector<std::string> pieces = pieces_of(*load_sentence_piece(model, path, TextSide::exact)), controls;
  const int spans = keys.count("extra_ids", 100);
  require(spans <= rows, "{}: extra_ids is {}, but the model has {} tokens", keys.path(), spans, rows);
  const std::set<std::string> known(pieces.begin(), pieces.end());
  for (int i = spans; i-- > 0;) {
    controls.push_back(fmt::format("<extra_id_{}>", i));
    if (!known.contains(controls.back())) pieces.push_back(controls.back());
  }
  require(std::cmp_less_equal(pieces.size(), rows), "{}: has {} tokens, but the model has {}", path.string(),
          pieces.size(), rows);
  for (auto id = std::ssize(pieces); id < rows; ++id) {
    pieces.push_back(fmt::format("<unused_{}>", id));
    controls.push_back(pieces.back());
  }
  return {
      .tokenizer = load_sentence_piece(add_vocabulary(model, pieces, path, controls), path, TextSide::exact),
      .settings = {}};
}

Imported read_t5(const ImportSource& source, bool scales) {
  const JsonKeys keys(fs::path(source.path) / "config.json");
  const TensorMap tensors = read_tensors(source.path);
  Seq2SeqModel theirs{.default_ids = {.bos = -1, .eos = 1}, .read_old_tokenizer = read_t5_tokenizer};
  static_cast<Architecture&>(theirs.config) = t5_architecture(keys, scales);
  theirs.rules = t5_rules(theirs.config);
  theirs.config.tied_embeddings =
      has_own_output(tensors, theirs.rules) ? TiedEmbeddings::source : TiedEmbeddings::all;
  return read_seq2seq(source, keys, tensors, std::move(theirs));
}

void write_t5_tokenizer(const fs::path& folder, const Tokenizer& tokenizer) {
  write_file_atomically(folder / "spiece.model", plain_model(tokenizer.serialized(), TextSide::exact));
}

/// The number of tokens that stand for masked spans.
int masked_spans(const Tokenizer& tokenizer) {
  int count = 0;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id)
    count += tokenizer.token_text(id).starts_with("<extra_id_") ? 1 : 0;
  return count;
}

Exported write_t5(const ExportSource& source, const std::string& folder) {
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, t5_class, difference);
  };
  need_usual_network(source, t5_class, {"attention_bias", "output_scale"});
  const bool old = source.tokenizers.target->kind() == TokenizerKind::sentencepiece;
  ModelConfig c = exported_seq2seq_config(source, t5_class, old);
  const float scale = 1 / std::sqrt(static_cast<float>(c.d_model));
  const bool scaled = c.output_scale == scale;
  need(!c.attention_bias && !c.feed_forward_bias && !c.output_bias, "its linear maps have biases");
  need(c.attention_score == AttentionScore::dot, "its attention_score is not 'dot'");
  need(c.norm == Norm::rms && c.preprocess == std::vector{ProcessStep::norm} &&
           has_step(c.postprocess_top, ProcessStep::norm) && !has_step(c.postprocess, ProcessStep::norm) &&
           has_step(c.postprocess, ProcessStep::add) && !has_step(c.postprocess_embedding, ProcessStep::norm),
       "its norms are not RMSNorms before the sub-layers, with one at the top of each stack");
  need(c.shares_embedding(), "its source and target have embeddings of their own");
  need(c.key_width() == c.value_width(), "its d_k differs from its d_v");
  need(!c.embedding_scale, "it multiplies embeddings by sqrt(d_model) (embedding_scale)");
  need(scaled || c.output_scale == 1, fmt::format("its output_scale is {}", c.output_scale));
  c.postprocess = {ProcessStep::dropout, ProcessStep::add};
  c.postprocess_top = {ProcessStep::norm, ProcessStep::dropout};
  c.postprocess_embedding = Architecture().postprocess_embedding;
  c.attention_dropout = c.activation_dropout = c.dropout;
  const std::string activation(causal_activation_name(c.activation));
  const std::string gated = c.activation == Activation::tanh_gelu ? "gelu" : activation;
  need(!c.feed_forward_gate || c.activation != Activation::gelu, "its gate is exact GELU");
  return write_seq2seq(source, folder,
                       {.class_name = t5_class,
                        .tokenizer_class = "T5Tokenizer",
                        .config = c,
                        .rules = t5_rules(c),
                        .pad = t5_pad,
                        .own = {{"model_type", "t5"},
                                {"num_heads", c.heads},
                                {"d_kv", c.key_width()},
                                {"d_ff", c.d_ff},
                                {"num_layers", c.encoder_layers},
                                {"num_decoder_layers", c.decoder_layers},
                                {"relative_attention_num_buckets", c.position_buckets},
                                {"relative_attention_max_distance", c.position_distance},
                                {"feed_forward_proj", c.feed_forward_gate ? "gated-" + gated : activation},
                                {"layer_norm_epsilon", shortest_decimal(c.norm_epsilon)},
                                {"dropout_rate", shortest_decimal(c.dropout)},
                                {"tie_word_embeddings", scaled},
                                {"scale_decoder_outputs", scaled}},
                        .own_of_tokenizer = {{"extra_ids", masked_spans(*source.tokenizers.target)}},
                        .write_old_tokenizer = write_t5_tokenizer});
}

}  // namespace

Family t5_family() {
  return {.program = &hugging_face,
          .name = "t5",
          .class_name = t5_class,
          .title = "T5",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_t5(source, /*scales=*/true); },
          .exports = "translation models with the positions of T5",
          .takes =
              [](const ModelConfig& c) {
                return c.task == TranslationSettings::task && c.positions == Positions::t5;
              },
          .write = write_t5};
}

Family mt5_family() {
  return {.program = &hugging_face,
          .name = "mt5",
          .class_name = mt5_class,
          .title = "mT5",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_t5(source, /*scales=*/false); }};
}

}  // namespace sixfold
