#include "families/families.h"
#include "families/json/causal.h"
#include "families/json/seq2seq.h"
#include "text/tokenizer_json.h"
#include "text/vocabulary_files.h"

// BART and mBART of Hugging Face, which have norms after and before their sub-layers. The meaning of keys and
// tensors is defined in transformers' configuration and modeling files of bart and mbart.

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view bart_class = "BartForConditionalGeneration",
                           mbart_class = "MBartForConditionalGeneration";
constexpr int bart_pad = 1;
/// Rows of the tables of positions before the first position.
constexpr int64_t rows_before = 2;

NameRules bart_rules(const Architecture& a) {
  const auto table = [](const char* stack) {
    return NameRule{.theirs = fmt::format("model.{}.embed_positions.weight", stack),
                    .ours = {fmt::format("{}.embed_positions.weight", stack)},
                    .steps = {Step::skip_rows},
                    .skipped_rows = rows_before};
  };
  NameRules rules = seq2seq_embedding_rules(a);
  const NameRule own[] = {
      table("encoder"),
      table("decoder"),
      {"final_logits_bias", {"output_projection.bias"}, {Step::to_vector}},
      {"model.*", {"*"}},
  };
  rules.insert(rules.end(), std::begin(own), std::end(own));
  return rules;
}

Architecture bart_architecture(const JsonKeys& keys, bool pre_norm) {
  for (const char* key : {"normalize_before", "add_final_layer_norm"})
    if (keys.has(key)) keys.require_is(key, pre_norm, pre_norm);
  keys.require_is("normalize_embedding", true, true);
  Architecture a = seq2seq_architecture(keys, pre_norm);
  a.postprocess_embedding = {ProcessStep::norm, ProcessStep::dropout};
  a.positions = Positions::learned;
  a.separate_positions = true;
  a.max_positions = keys.positive("max_position_embeddings", 1024);
  a.beyond_positions = BeyondPositions::error;
  return a;
}

/// Reads vocab.json and merges.txt of BART. Folders of mBART without tokenizer.json can't be read, since the
/// ids of its languages are in no file.
Seq2SeqTokenizer read_bart_tokenizer(const fs::path& folder, int rows, int eos) {
  const fs::path vocabulary = folder / "vocab.json", merges = folder / "merges.txt";
  require(fs::exists(vocabulary) && fs::exists(merges),
          "{}: has no tokenizer; expected tokenizer.json, or vocab.json and merges.txt", folder.string());
  const std::string text = byte_level_tokenizer_json(read_regular_file(vocabulary), read_regular_file(merges),
                                                     /*add_prefix_space=*/false, folder);
  Seq2SeqTokenizer read{
      .tokenizer = load_hugging_face_tokenizer(text, {.bos = -1, .eos = eos, .size = rows}, vocabulary)};
  for (int32_t id = 0; id < read.tokenizer->vocab_size(); ++id)
    if (read.tokenizer->token_text(id) == "<s>") read.settings.source_start = {id};
  return read;
}

Imported read_bart(const ImportSource& source, bool pre_norm) {
  const JsonKeys keys(fs::path(source.path) / "config.json");
  Seq2SeqModel theirs{.read_old_tokenizer = read_bart_tokenizer, .forces_end = true};
  // Tokenizers of mBART put the token of a language after a text, and those of mBART-50 before it.
  const fs::path config = fs::path(source.path) / "tokenizer_config.json";
  const JsonKeys tokens = JsonKeys::of_optional(config);
  if (pre_norm && tokens.get<std::string>("tokenizer_class", "").starts_with("MBart50"))
    theirs.language_tokens = {"*"};
  static_cast<Architecture&>(theirs.config) = bart_architecture(keys, pre_norm);
  theirs.rules = bart_rules(theirs.config);
  const TensorMap tensors = with_prefix(read_tensors(source.path), theirs.rules, "model.");
  theirs.config.output_bias = tensors.find("final_logits_bias") != nullptr;
  return read_seq2seq(source, keys, tensors, std::move(theirs));
}

/// Whether a model has the tables of positions of these families.
bool is_bart_like(const ModelConfig& c) {
  return c.task == TranslationSettings::task && c.positions == Positions::learned && c.separate_positions;
}

bool is_pre_norm(const Architecture& a) { return has_step(a.preprocess, ProcessStep::norm); }

Exported write_bart(const ExportSource& source, const std::string& folder) {
  ModelConfig c = source.model.config();
  const bool pre_norm = is_pre_norm(c);
  const std::string_view name = pre_norm ? mbart_class : bart_class;
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, name, difference);
  };
  need_usual_network(source, name, {"separate_positions", "decoder_heads", "decoder_d_ff"});
  c = exported_seq2seq_config(source, name, /*old_tokenizer=*/false);
  const Architecture defaults = bart_architecture(JsonKeys("config.json", R"({"d_model": 8, "encoder_layers": 1,
      "decoder_layers": 1, "encoder_attention_heads": 1, "decoder_attention_heads": 1, "encoder_ffn_dim": 8,
      "decoder_ffn_dim": 8})"),
                                                  pre_norm);
  need(c.norm == Norm::layer && c.preprocess == defaults.preprocess && c.postprocess == defaults.postprocess &&
           c.postprocess_top == defaults.postprocess_top &&
           c.postprocess_embedding == defaults.postprocess_embedding,
       "its norms are placed otherwise");
  need(!c.feed_forward_gate && c.feed_forward_bias, "its feed-forward layers have a gate or no biases");
  need(c.tied_embeddings == TiedEmbeddings::all || c.tied_embeddings == TiedEmbeddings::none,
       "some of its embeddings are tied, and others are not");
  need(c.beyond_positions == BeyondPositions::error, "its sentences may be longer than max_positions");
  need_even_heads(source, name);
  need(c.attention_score == AttentionScore::scaled_dot, "its attention_score is not scaled");
  const auto settings = settings_of<TranslationSettings>(c);
  c.output_bias = true;  // zeros, if the model has none
  nlohmann::ordered_json own = seq2seq_keys(c);
  own["model_type"] = pre_norm ? "mbart" : "bart";
  own["max_position_embeddings"] = c.max_positions;
  const bool first = settings.language_token == "*";
  need(settings.language_token.empty() || (pre_norm && first), "its languages have other tokens");
  return write_seq2seq(source, folder,
                       {.class_name = name,
                        .tokenizer_class = !pre_norm ? "PreTrainedTokenizerFast"
                                           : first   ? "MBart50Tokenizer"
                                                     : "MBartTokenizer",
                        .config = c,
                        .rules = bart_rules(c),
                        .pad = bart_pad,
                        .own = own});
}

}  // namespace

Family bart_family() {
  return {.program = &hugging_face,
          .name = "bart",
          .class_name = bart_class,
          .title = "BART",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_bart(source, /*pre_norm=*/false); },
          .exports = "translation models with positions of each stack and norms after the sub-layers",
          .takes = [](const ModelConfig& c) { return is_bart_like(c) && !is_pre_norm(c); },
          .write = write_bart};
}

Family mbart_family() {
  return {.program = &hugging_face,
          .name = "mbart",
          .class_name = mbart_class,
          .title = "mBART",
          .recognizes = has_model_type,
          .read = [](const ImportSource& source) { return read_bart(source, /*pre_norm=*/true); },
          .exports = "translation models with positions of each stack and norms before the sub-layers",
          .takes = [](const ModelConfig& c) { return is_bart_like(c) && is_pre_norm(c); },
          .write = write_bart};
}

}  // namespace sixfold
