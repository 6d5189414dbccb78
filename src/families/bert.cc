#include <algorithm>

#include "families/families.h"
#include "families/json/encoder.h"
#include "text/vocabulary_files.h"

// BERT, RoBERTa, XLM-R and DistilBERT of Hugging Face. The meaning of keys and tensors is defined in
// transformers' configuration and modeling files of bert, roberta, xlm_roberta and distilbert.

namespace sixfold {
namespace {

namespace fs = std::filesystem;

NameRules bert_rules(const std::string& scope) {
  const std::string theirs = scope + "encoder.layer.*.", ours = "encoder.layers.*.",
                    attention = ours + "self_attn.";
  return {
      {theirs + "attention.self.query.*", {attention + "q_proj.*"}},
      {theirs + "attention.self.key.*", {attention + "k_proj.*"}},
      {theirs + "attention.self.value.*", {attention + "v_proj.*"}},
      {theirs + "attention.output.dense.*", {attention + "out_proj.*"}},
      {theirs + "attention.output.LayerNorm.*", {ours + "self_attn_layer_norm.*"}},
      {theirs + "intermediate.dense.*", {ours + "fc1.*"}},
      {theirs + "output.dense.*", {ours + "fc2.*"}},
      {theirs + "output.LayerNorm.*", {ours + "final_layer_norm.*"}},
  };
}

NameRules distilbert_rules(const std::string& scope) {
  const std::string theirs = scope + "transformer.layer.*.", ours = "encoder.layers.*.",
                    attention = ours + "self_attn.";
  return {
      {theirs + "attention.q_lin.*", {attention + "q_proj.*"}},
      {theirs + "attention.k_lin.*", {attention + "k_proj.*"}},
      {theirs + "attention.v_lin.*", {attention + "v_proj.*"}},
      {theirs + "attention.out_lin.*", {attention + "out_proj.*"}},
      {theirs + "sa_layer_norm.*", {ours + "self_attn_layer_norm.*"}},
      {theirs + "ffn.lin1.*", {ours + "fc1.*"}},
      {theirs + "ffn.lin2.*", {ours + "fc2.*"}},
      {theirs + "output_layer_norm.*", {ours + "final_layer_norm.*"}},
  };
}

/// vocab.txt.
std::string bert_vocabulary(const fs::path& folder) {
  const fs::path path = folder / "vocab.txt", config = folder / "tokenizer_config.json";
  require(fs::exists(path), "{}: has no tokenizer; expected tokenizer.json or vocab.txt", folder.string());
  const JsonKeys keys(config, fs::exists(config) ? read_regular_file(config) : "{}");
  BertVocabularySettings settings{.do_lower_case = keys.get("do_lower_case", true),
                                  .tokenize_chinese_chars = keys.get("tokenize_chinese_chars", true)};
  if (keys.has("strip_accents")) settings.strip_accents = keys.get("strip_accents", true);
  return bert_tokenizer_json(read_regular_file(path), settings, path);
}

/// vocab.json and merges.txt.
std::string roberta_vocabulary(const fs::path& folder) {
  const fs::path vocabulary = folder / "vocab.json", merges = folder / "merges.txt",
                 config = folder / "tokenizer_config.json";
  require(fs::exists(vocabulary) && fs::exists(merges),
          "{}: has no tokenizer; expected tokenizer.json, or vocab.json and merges.txt", folder.string());
  const JsonKeys keys(config, fs::exists(config) ? read_regular_file(config) : "{}");
  return byte_level_tokenizer_json(read_regular_file(vocabulary), read_regular_file(merges),
                                   keys.get("add_prefix_space", false), folder);
}

std::string no_old_vocabulary(const fs::path& folder) {
  throw_input_error("{}: has no tokenizer.json; transformers writes it when the tokenizer is loaded and saved",
                    folder.string());
}

constexpr EncoderKind bert{.type = "bert",
                           .prefix = "Bert",
                           .scope = "bert.",
                           .d_model = "hidden_size",
                           .heads = "num_attention_heads",
                           .d_ff = "intermediate_size",
                           .layers = "num_hidden_layers",
                           .dropout = "hidden_dropout_prob",
                           .attention_dropout = "attention_probs_dropout_prob",
                           .activation = "hidden_act",
                           .usual_types = 2,
                           .layers_rules = bert_rules,
                           .mask_dense = "cls.predictions.transform.dense",
                           .mask_norm = "cls.predictions.transform.LayerNorm",
                           .mask_bias = "cls.predictions.bias",
                           .mask_copy = "cls.predictions.decoder",
                           .class_dense = "bert.pooler.dense",
                           .class_output = "classifier",
                           .old_tokenizer_json = bert_vocabulary};

constexpr EncoderKind as_roberta(std::string_view type, std::string_view prefix,
                                 std::string (*old_tokenizer_json)(const fs::path& folder)) {
  EncoderKind kind = bert;
  kind.type = type;
  kind.prefix = prefix;
  kind.scope = "roberta.";
  kind.positions_after_pad = true;
  kind.separators = 2;
  kind.usual_types = 1;
  kind.masks_by_gelu = true;
  kind.mask = "<mask>", kind.start = "<s>", kind.end = "</s>";
  kind.mask_dense = "lm_head.dense";
  kind.mask_norm = "lm_head.layer_norm";
  kind.mask_bias = "lm_head.bias";
  kind.mask_copy = "lm_head.decoder";
  kind.class_dense = "classifier.dense";
  kind.class_output = "classifier.out_proj";
  kind.old_tokenizer_json = old_tokenizer_json;
  return kind;
}
constexpr EncoderKind roberta = as_roberta("roberta", "Roberta", roberta_vocabulary),
                      xlm_roberta = as_roberta("xlm-roberta", "XLMRoberta", no_old_vocabulary);

constexpr EncoderKind distilbert{.type = "distilbert",
                                 .prefix = "DistilBert",
                                 .scope = "distilbert.",
                                 .d_model = "dim",
                                 .heads = "n_heads",
                                 .d_ff = "hidden_dim",
                                 .layers = "n_layers",
                                 .dropout = "dropout",
                                 .attention_dropout = "attention_dropout",
                                 .activation = "activation",
                                 .classifier = Activation::relu,
                                 .layers_rules = distilbert_rules,
                                 .mask_dense = "vocab_transform",
                                 .mask_norm = "vocab_layer_norm",
                                 .mask_bias = "vocab_projector.bias",
                                 .mask_copy = "vocab_projector",
                                 .class_dense = "pre_classifier",
                                 .class_output = "classifier",
                                 .old_tokenizer_json = bert_vocabulary};

}  // namespace

Family bert_family() {
  return {.program = &hugging_face,
          .name = bert.type,
          .class_name = "BertModel",
          .title = "BERT",
          .recognises = has_model_type,
          .read = [](const ImportSource& source) { return read_encoder(source, bert); }};
}

Family roberta_family() {
  return {.program = &hugging_face,
          .name = roberta.type,
          .class_name = "RobertaModel",
          .title = "RoBERTa",
          .recognises = has_model_type,
          .read = [](const ImportSource& source) { return read_encoder(source, roberta); }};
}

Family xlm_roberta_family() {
  return {.program = &hugging_face,
          .name = xlm_roberta.type,
          .class_name = "XLMRobertaModel",
          .title = "XLM-R",
          .recognises = has_model_type,
          .read = [](const ImportSource& source) { return read_encoder(source, xlm_roberta); }};
}

Family distilbert_family() {
  return {.program = &hugging_face,
          .name = distilbert.type,
          .class_name = "DistilBertModel",
          .title = "DistilBERT",
          .recognises = has_model_type,
          .read = [](const ImportSource& source) { return read_encoder(source, distilbert); }};
}

}  // namespace sixfold
