#include <algorithm>

#include "families/families.h"
#include "families/json/encoder.h"
#include "families/json/sentence_piece_json.h"
#include "tasks/question_answering/settings.h"
#include "text/sentence_piece.h"
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

/// Makes a tokenizer.json of vocab.txt.
std::string bert_vocabulary(const fs::path& folder) {
  const fs::path path = folder / "vocab.txt", config = folder / "tokenizer_config.json";
  require(fs::exists(path), "{}: has no tokenizer; expected tokenizer.json or vocab.txt", folder.string());
  const JsonKeys keys = JsonKeys::of_optional(config);
  BertVocabularySettings settings{.do_lower_case = keys.get("do_lower_case", true),
                                  .tokenize_chinese_chars = keys.get("tokenize_chinese_chars", true)};
  if (keys.has("strip_accents")) settings.strip_accents = keys.get("strip_accents", true);
  return bert_tokenizer_json(read_regular_file(path), settings, path);
}

/// Makes a tokenizer.json of vocab.json and merges.txt.
std::string roberta_vocabulary(const fs::path& folder) {
  const fs::path vocabulary = folder / "vocab.json", merges = folder / "merges.txt",
                 config = folder / "tokenizer_config.json";
  require(fs::exists(vocabulary) && fs::exists(merges),
          "{}: has no tokenizer; expected tokenizer.json, or vocab.json and merges.txt", folder.string());
  const JsonKeys keys = JsonKeys::of_optional(config);
  return byte_level_tokenizer_json(read_regular_file(vocabulary), read_regular_file(merges),
                                   keys.get("add_prefix_space", false), folder);
}

/// Makes a tokenizer.json of sentencepiece.bpe.model, whose pieces begin with <unk>, <s> and </s>. XLM-R has
/// the ids of fairseq, which puts its own special tokens before the other pieces and the mask token after them.
std::string xlm_roberta_vocabulary(const fs::path& folder) {
  using nlohmann::json;
  const fs::path path = folder / "sentencepiece.bpe.model";
  require(fs::exists(path), "{}: has no tokenizer; expected tokenizer.json or sentencepiece.bpe.model",
          folder.string());
  const std::string bytes = read_regular_file(path);
  const std::vector<std::string> pieces = pieces_of(*load_sentence_piece(bytes, path, TextSide::exact));
  json all = tokenizer_json_of_sentence_piece(bytes, /*by_lines=*/false, path);
  require(all["model"]["type"] == "Unigram" && pieces.size() > 3 && pieces[0] == "<unk>" &&
              pieces[1] == "<s>" && pieces[2] == "</s>",
          "{}: is not a unigram model that begins with <unk>, <s> and </s>, as those of XLM-R", path.string());
  const json scored = all["model"]["vocab"];
  json vocabulary = json::array();
  for (const char* special : {"<s>", "<pad>", "</s>", "<unk>"}) vocabulary.push_back({special, 0.0});
  vocabulary.insert(vocabulary.end(), scored.begin() + 3, scored.end());
  vocabulary.push_back({"<mask>", 0.0});
  all["added_tokens"] = json::array();
  for (const size_t id : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, vocabulary.size() - 1})
    all["added_tokens"].push_back({{"id", id},
                                   {"content", vocabulary[id][0]},
                                   {"single_word", false},
                                   {"lstrip", id > 3},
                                   {"rstrip", false},
                                   {"normalized", false},
                                   {"special", true}});
  all["model"]["vocab"] = std::move(vocabulary);
  all["model"]["unk_id"] = 3;
  // Words are split at spaces by the pre-tokenizer, as in transformers, instead of by the normalizer.
  const json steps = all["normalizer"]["normalizers"];
  all["normalizer"] = steps[0]["type"] == "Precompiled" ? steps[0] : json();
  const json marks{
      {"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}, {"split", true}};
  all["pre_tokenizer"] = {{"type", "Sequence"},
                          {"pretokenizers", json::array({{{"type", "WhitespaceSplit"}}, marks})}};
  all["decoder"] = marks;
  return all.dump();
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
                           .default_token_types = 2,
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
  kind.default_token_types = 1;
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
                      xlm_roberta = as_roberta("xlm-roberta", "XLMRoberta", xlm_roberta_vocabulary);

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
                                 .head_dropouts =
                                     [] {
                                       return std::vector{"seq_classif_dropout", "qa_dropout"};
                                     },
                                 .norm_epsilon = 1e-12f,
                                 .classifier = Activation::relu,
                                 .layers_rules = distilbert_rules,
                                 .mask_dense = "vocab_transform",
                                 .mask_norm = "vocab_layer_norm",
                                 .mask_bias = "vocab_projector.bias",
                                 .mask_copy = "vocab_projector",
                                 .class_dense = "pre_classifier",
                                 .class_output = "classifier",
                                 .old_tokenizer_json = bert_vocabulary};

/// Whether a model has the network of DistilBERT: no token types, and norms with its epsilon.
bool is_distilbert(const ModelConfig& c) {
  return encoder_head(c) && c.token_types == 0 && c.norm_epsilon == distilbert.norm_epsilon &&
         (encoder_head(c) != EncoderHead::labels || c.head.activation == distilbert.classifier);
}

/// Whether a model has the network of RoBERTa: one token type, two end tokens between texts, and GELU in the
/// head of masked tokens.
bool is_roberta(const ModelConfig& c) {
  const std::optional<EncoderHead> head = encoder_head(c);
  return head && c.token_types == 1 &&
         (head != EncoderHead::answers || settings_of<AnswerSettings>(c).separators == roberta.separators) &&
         (head != EncoderHead::masks || c.head.activation == Activation::gelu);
}

}  // namespace

Family bert_family() {
  return {.program = &hugging_face,
          .name = bert.type,
          .class_name = "BertModel",
          .title = "BERT",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_encoder(source, bert); },
          .exports = "encoders of text",
          .takes = [](const ModelConfig& c) { return encoder_head(c) && !is_roberta(c) && !is_distilbert(c); },
          .write = [](const ExportSource& source,
                      const std::string& folder) { return write_encoder(source, folder, bert); }};
}

Family roberta_family() {
  return {.program = &hugging_face,
          .name = roberta.type,
          .class_name = "RobertaModel",
          .title = "RoBERTa",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_encoder(source, roberta); },
          .exports = "encoders of text with one token type",
          .takes = is_roberta,
          .write = [](const ExportSource& source,
                      const std::string& folder) { return write_encoder(source, folder, roberta); }};
}

Family xlm_roberta_family() {
  return {.program = &hugging_face,
          .name = xlm_roberta.type,
          .class_name = "XLMRobertaModel",
          .title = "XLM-R",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_encoder(source, xlm_roberta); }};
}

Family distilbert_family() {
  return {.program = &hugging_face,
          .name = distilbert.type,
          .class_name = "DistilBertModel",
          .title = "DistilBERT",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_encoder(source, distilbert); },
          .exports = "encoders of text without token types whose norms have the epsilon 1e-12",
          .takes = is_distilbert,
          .write = [](const ExportSource& source,
                      const std::string& folder) { return write_encoder(source, folder, distilbert); }};
}

}  // namespace sixfold
