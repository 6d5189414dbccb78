#include "families/json/seq2seq.h"

#include <algorithm>

#include "families/hugging_face.h"
#include "families/json/causal.h"
#include "families/model_card.h"
#include "model_folder/binding.h"
#include "tasks/translation/settings.h"
#include "text/sentence_piece.h"
#include "text/text_templates.h"
#include "text/tokenizer_json.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int max_exported_output = 1 << 14;

std::vector<int> ids_of(const std::vector<TemplateToken>& tokens) {
  std::vector<int> ids;
  for (const TemplateToken& token : tokens) ids.push_back(token.id);
  return ids;
}

/// Reads tokenizer.json, and the tokens around a text from its template.
Seq2SeqTokenizer read_tokenizer_json(const fs::path& path, int rows, int eos) {
  const std::string text = read_regular_file(path);
  const TextTemplate around = read_text_templates(parse_json(text, path), path).single;
  const TokenizerJsonSettings settings{.bos = -1, .eos = eos, .size = rows};
  Seq2SeqTokenizer read{.tokenizer = load_tokenizer_json(add_settings(text, settings, path), path)};
  read.settings.source_start = ids_of(around.before);
  read.settings.source_end = ids_of(around.after);
  return read;
}

/// The language in a key of tokenizer_config.json; empty if there is none.
std::string language_of(const JsonKeys& keys, const char* key) {
  const std::string language = keys.get<std::string>(key, "");
  return is_model_language(language) ? language : "";
}

/// Sets the languages of a model, and how they are given to it. With tokens of languages, the token of the
/// source language comes first, whatever the template says, since the tokenizers of transformers change the
/// template. `forced` is the first token of translations.
void set_languages(const fs::path& folder, const Seq2SeqModel& theirs, const Tokenizer& tokenizer, int forced,
                   TranslationSettings& settings) {
  const fs::path path = folder / "tokenizer_config.json";
  const JsonKeys keys = JsonKeys::of_optional(path);
  settings.source_language = language_of(keys, "src_lang");
  settings.target_language = language_of(keys, "tgt_lang");
  for (const std::string& written : theirs.language_tokens) {
    settings.language_token = written;
    const auto languages = languages_of(settings, tokenizer);
    if (languages.empty()) continue;
    keys.require_is("legacy_behaviour", false, false);  // true puts the language behind the source
    const auto code_of = [&](int id) {
      for (const auto& [code, token] : languages)
        if (token == id) return code;
      return std::string();
    };
    std::vector<int>& start = settings.source_start;
    if (!start.empty() && settings.source_language.empty()) settings.source_language = code_of(start.front());
    const auto is_language = [&](int id) { return !code_of(id).empty(); };
    std::erase_if(start, is_language);
    std::erase_if(settings.source_end, is_language);
    if (settings.source_end == std::vector{tokenizer.eos()}) settings.source_end.clear();
    if (const std::string code = code_of(forced); !code.empty()) settings.target_language = code;
    return;
  }
  settings.language_token.clear();
  // The tokenizers of transformers put the same tokens around both sides.
  settings.target_start = settings.source_start;
  if (settings.source_end == std::vector{tokenizer.eos()}) settings.source_end.clear();
  // Languages of a tokenizer that puts their tokens after sources are fixed.
  for (std::string* language : {&settings.source_language, &settings.target_language})
    if (!is_language_code(*language)) language->clear();
}

/// Models that were saved before generation_config.json existed have the keys of `generate` in config.json.
void set_generation(const fs::path& folder, const Seq2SeqModel& theirs, ModelConfig& config, Notes& notes) {
  const ImportedGeneration read =
      read_generation_config(folder, {.eos = config.eos, .target_tokens = config.target_vocab}, notes);
  config.generation = read.generation;
  config.decoder_start_token = read.decoder_start_token;
  const bool own_file = fs::exists(folder / "generation_config.json");
  if (theirs.forces_end && !own_file && !JsonKeys(folder / "config.json").names("forced_eos_token_id"))
    config.generation.at_longest = AtLongest::certain_end;
}

}  // namespace

void set_stack_sizes(const JsonKeys& keys, Architecture& a) {
  a.heads = keys.size("encoder_attention_heads");
  a.d_ff = keys.size("encoder_ffn_dim");
  set_decoder_sizes(a, keys.positive("decoder_attention_heads", a.heads),
                    keys.positive("decoder_ffn_dim", a.d_ff));
}

Architecture seq2seq_architecture(const JsonKeys& keys, bool pre_norm) {
  Architecture a;
  a.d_model = keys.size("d_model");
  a.encoder_layers = keys.size("encoder_layers");
  a.decoder_layers = keys.size("decoder_layers");
  set_stack_sizes(keys, a);
  a.activation = causal_activation(keys, "activation_function", "gelu");
  a.embedding_scale = keys.get("scale_embedding", false);
  a.dropout = keys.get("dropout", 0.1f);
  a.attention_dropout = keys.get("attention_dropout", 0.0f);
  a.activation_dropout = keys.get("activation_dropout", 0.0f);
  if (pre_norm) {
    a.preprocess = a.postprocess_top = {ProcessStep::norm};
    a.postprocess = {ProcessStep::dropout, ProcessStep::add};
  }
  a.tied_embeddings = keys.get("tie_word_embeddings", true) ? TiedEmbeddings::all : TiedEmbeddings::none;
  require_encoder_and_decoder(a, keys.path());
  return a;
}

ordered_json seq2seq_keys(const Architecture& a) {
  return {{"d_model", a.d_model},
          {"encoder_layers", a.encoder_layers},
          {"decoder_layers", a.decoder_layers},
          {"encoder_attention_heads", a.heads},
          {"decoder_attention_heads", a.of_decoder().heads},
          {"encoder_ffn_dim", a.d_ff},
          {"decoder_ffn_dim", a.of_decoder().d_ff},
          {"activation_function", causal_activation_name(a.activation)},
          {"scale_embedding", a.embedding_scale},
          {"tie_word_embeddings", a.tied_embeddings == TiedEmbeddings::all},
          {"dropout", shortest_decimal(a.dropout)},
          {"attention_dropout", shortest_decimal(a.attention_dropout)},
          {"activation_dropout", shortest_decimal(a.activation_dropout)}};
}

NameRules seq2seq_embedding_rules(const Architecture& a) {
  if (a.tied_embeddings != TiedEmbeddings::all)
    return {{"lm_head.weight", {"output_projection.weight"}}, {"model.shared.weight", {}, {}, Holds::nothing}};
  return {
      {"lm_head.weight", {"shared.weight"}, {}, Holds::copy},
      {"model.encoder.embed_tokens.weight", {"shared.weight"}, {}, Holds::copy},
      {"model.decoder.embed_tokens.weight", {"shared.weight"}, {}, Holds::copy},
  };
}

Imported read_seq2seq(const ImportSource& source, const JsonKeys& keys, const TensorMap& tensors,
                      Seq2SeqModel theirs) {
  ModelConfig& config = theirs.config;
  const fs::path folder(source.path), json = folder / "tokenizer.json";
  const int rows =
      rows_of(tensors, theirs.rules,
              config.shares_embedding() ? "shared.weight" : "decoder.embed_tokens.weight", config.d_model);
  Imported imported{.step = hugging_face_step, .origin = source.path};
  const SpecialIds ids = read_special_ids(folder, theirs.default_ids, rows);
  const int eos = ids.eos;
  if (!ids.more_ends.empty())
    imported.notes.warn("{}: eos_token_id has {} ids; outputs end with the first of them alone, {}",
                        source.path, ids.more_ends.size() + 1, eos);
  Seq2SeqTokenizer read =
      fs::exists(json) ? read_tokenizer_json(json, rows, eos) : theirs.read_old_tokenizer(folder, rows, eos);
  imported.tokenizers = {read.tokenizer, read.tokenizer, true};
  bind_tokenizers(config, imported.tokenizers);
  config.task = TranslationSettings::task;
  config.eos = eos;
  config.bos = -1;  // targets begin with decoder_start_token_id, and transformers suppresses no start token
  set_generation(folder, theirs, config, imported.notes);
  set_languages(folder, theirs, *read.tokenizer, config.generation.forced_first_token, read.settings);
  const bool chosen = !read.settings.language_token.empty();
  if (chosen && !read.settings.target_language.empty() && !read.settings.source_language.empty())
    config.generation.forced_first_token =
        layout_of(read.settings, config.generation, *read.tokenizer).target_language;
  config.settings = write_options(read.settings);
  validate_described(config, keys.path());
  imported.model = read_weights(tensors, theirs.rules, config);
  return imported;
}

ModelConfig exported_seq2seq_config(const ExportSource& source, std::string_view class_name,
                                    bool old_tokenizer) {
  ModelConfig c = source.model.config();
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, class_name, difference);
  };
  need(c.encoder_mixer == MixerKind::attention && c.decoder_mixer == MixerKind::attention,
       fmt::format("its encoder_mixer is '{}' and its decoder_mixer '{}'", name_of_enum(c.encoder_mixer),
                   name_of_enum(c.decoder_mixer)));
  need(c.key_value_heads() == c.heads, "its heads of queries share those of keys and values (kv_heads)");
  need(c.generation.word_penalty == 0, fmt::format("its word_penalty is {}", c.generation.word_penalty));
  need(c.generation.coverage_penalty == 0,
       fmt::format("its coverage_penalty is {}", c.generation.coverage_penalty));
  need(!causal_activation_name(c.activation).empty(),
       fmt::format("its activation is '{}'", name_of_enum(c.activation)));
  need(c.decoder_start_token >= 0, "its decoder begins with an embedding of zeros instead of a start token");
  need(source.tokenizers.joint &&
           (old_tokenizer || source.tokenizers.target->kind() == TokenizerKind::tokenizer_json),
       "its tokenizer is not one of a tokenizer.json for both sides");
  c.bos = -1;
  c.settings = write_options(settings_of<TranslationSettings>(c));
  c.generation = exported_generation(c, /*pad=*/-1, max_exported_output - 1);
  return c;
}

Exported write_seq2seq(const ExportSource& source, const std::string& output, const Seq2SeqExport& theirs) {
  const fs::path folder(output);
  const ModelConfig& c = theirs.config;
  const Tokenizer& tokenizer = *source.tokenizers.target;
  ordered_json json{{"architectures", {theirs.class_name}},
                    {"is_encoder_decoder", true},
                    {"vocab_size", c.target_vocab},
                    {"d_model", c.d_model},
                    {"dtype", "float32"}};
  json["decoder_start_token_id"] = c.decoder_start_token;
  json["eos_token_id"] = c.eos;
  json["pad_token_id"] = theirs.pad;
  json["forced_eos_token_id"] = forced_end(c.generation, c.eos);
  json.update(theirs.own);
  write_json(folder / "config.json", json);
  write_json(folder / "generation_config.json", generation_json(c, theirs.pad));
  Exported exported;
  exported.config = c;
  const Transformer& model = source.model;
  exported.values = [&model](const Parameter& weight) {
    if (weight.name == "output_projection.bias" && !model.config().output_bias)
      return std::vector<float>(static_cast<size_t>(weight.tensor.size()));
    return values_of(model, weight.name);
  };
  write_weights(folder / "model.safetensors", theirs.rules, c, exported.values);
  const auto settings = settings_of<TranslationSettings>(c);
  ordered_json tokens{{"tokenizer_class", theirs.tokenizer_class},
                      {"eos_token", tokenizer.token_text(c.eos)},
                      {"pad_token", tokenizer.token_text(theirs.pad)},
                      {"unk_token", tokenizer.token_text(c.unk)}};
  tokens.update(theirs.own_of_tokenizer);
  if (!settings.source_language.empty()) tokens["src_lang"] = settings.source_language;
  if (!settings.target_language.empty()) tokens["tgt_lang"] = settings.target_language;
  write_json(folder / "tokenizer_config.json", tokens);
  if (tokenizer.kind() == TokenizerKind::tokenizer_json)
    write_file_atomically(folder / "tokenizer.json", std::string(tokenizer_json_of(tokenizer.serialized())));
  else
    theirs.write_old_tokenizer(folder, tokenizer);
  write_file_atomically(folder / "README.md", model_card(model.config(), source.tokenizers, source.folder));
  exported.source_pieces = exported.target_pieces = pieces_of(tokenizer);
  return exported;
}

}  // namespace sixfold
