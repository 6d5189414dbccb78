#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/language_code.h"
#include "families/families.h"
#include "families/hugging_face.h"
#include "families/json/generation_config.h"
#include "families/json/keys.h"
#include "families/json/seq2seq.h"
#include "families/marian_mt_weights.h"
#include "families/model_card.h"
#include "families/vocabulary.h"
#include "model/layers/positions.h"
#include "model_folder/binding.h"
#include "tasks/translation/settings.h"
#include "text/sentence_piece.h"

// MarianMTModel of Hugging Face. The meaning of keys and tensors is defined in transformers'
// configuration_marian.py and modeling_marian.py.

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* pad = "<pad>";
constexpr std::string_view marian_mt_class = "MarianMTModel";
constexpr int default_positions = 1024;
constexpr int max_exported_positions = 1 << 14;

/// The names of activations in transformers. The first name of an activation is the one that is written.
constexpr std::pair<std::string_view, Activation> activations[] = {{"relu", Activation::relu},
                                                                   {"swish", Activation::swish},
                                                                   {"silu", Activation::swish},
                                                                   {"gelu", Activation::gelu},
                                                                   {"quick_gelu", Activation::sigmoid_gelu}};

/// Most names differ only by the prefix "model.". `positions` is a table to write if positions are computed
/// here.
NameRules marian_mt_rules(const Architecture& a, const std::optional<Matrix>& positions = {}) {
  const std::string encoder = "model.encoder.embed_positions.weight",
                    decoder = "model.decoder.embed_positions.weight";
  // Without tie_word_embeddings, transformers reads the embeddings of both sides instead of the shared one.
  const Holds of_side = a.tied_embeddings == TiedEmbeddings::source ? Holds::written_copy : Holds::copy;
  NameRules rules{
      {"lm_head.weight", {"output_projection.weight"}},
      {"final_logits_bias", {"output_projection.bias"}, {Step::to_vector}},
      {encoder, {"embed_positions.weight"}},
      {decoder, {"embed_positions.weight"}, {}, Holds::written_copy},
      {"model.*", {"*"}},
      {"lm_head.weight", {"shared.weight"}, {}, Holds::copy},
      {"lm_head.weight", {"decoder.embed_tokens.weight"}, {}, Holds::copy},
      {"model.encoder.embed_tokens.weight", {"shared.weight"}, {}, of_side},
      {"model.decoder.embed_tokens.weight", {"shared.weight"}, {}, of_side},
  };
  if (a.positions != Positions::learned)
    for (const std::string& table : {encoder, decoder}) {
      NameRule& rule = rules.emplace_back(NameRule{table, {}, {}, Holds::nothing});
      if (positions) rule.computed = [values = *positions] { return values; };
    }
  return rules;
}

Activation activation_of(const JsonKeys& config) {
  const std::string name = config.get<std::string>("activation_function", "gelu");
  for (const auto& [theirs, activation] : activations)
    if (theirs == name) return activation;
  throw_input_error("{}: activation_function is {}; only relu, swish, silu, gelu and quick_gelu are supported",
                    config.path(), name);
}

TiedEmbeddings tied_of(const JsonKeys& config) {
  const bool joint = config.get("share_encoder_decoder_embeddings", true),
             output = config.get("tie_word_embeddings", true);
  if (joint) return output ? TiedEmbeddings::all : TiedEmbeddings::source;
  return output ? TiedEmbeddings::decoder : TiedEmbeddings::none;
}

Architecture architecture_of(const JsonKeys& config) {
  config.require_is("static_position_embeddings", true, true);
  for (const char* key : {"normalize_before", "normalize_embedding", "add_final_layer_norm"})
    config.require_is(key, false, false);
  Architecture a;
  a.d_model = config.size("d_model");
  a.encoder_layers = config.size("encoder_layers");
  a.decoder_layers = config.size("decoder_layers");
  set_stack_sizes(config, a);
  a.tied_embeddings = tied_of(config);
  a.activation = activation_of(config);
  a.embedding_scale = config.get("scale_embedding", false);
  a.dropout = config.get("dropout", 0.1f);
  a.attention_dropout = config.get("attention_dropout", 0.0f);
  a.activation_dropout = config.get("activation_dropout", 0.0f);
  require_encoder_and_decoder(a, config.path());
  return a;
}

/// Sets the kind of positions: sinusoidal ones, unless the model has tables of other positions.
void set_positions(const TensorMap& tensors, Architecture& a) {
  const std::string encoder = "model.encoder.embed_positions.weight",
                    decoder = "model.decoder.embed_positions.weight";
  std::vector<Matrix> tables;
  for (const std::string& name : {encoder, decoder})
    if (tensors.find(name)) tables.push_back(matrix_of(tensors, name));
  a.positions = Positions::sinusoidal_halves;
  if (tables.empty()) return;
  const std::optional<Positions> first = formula_of(tables.front());
  if (first && formula_of(tables.back()) == first) {
    a.positions = *first;
    return;
  }
  require(tables.size() == 2 && tables[0].values == tables[1].values,
          "tensors '{}' and '{}' differ; only sinusoidal positions or one table for encoder and decoder are "
          "supported",
          encoder, decoder);
  a.positions = Positions::learned;
  a.max_positions = static_cast<int>(tables[0].rows);
}

std::shared_ptr<const Tokenizer> read_tokenizer(const fs::path& sentence_piece, const fs::path& vocabulary,
                                                int64_t rows, TextSide side) {
  const std::vector<std::string> pieces = parse_vocabulary(read_regular_file(vocabulary), vocabulary);
  require(std::ssize(pieces) <= rows, "{}: has {} pieces, but the model has {} tokens", vocabulary.string(),
          pieces.size(), rows);
  const std::string bytes =
      add_vocabulary(read_regular_file(sentence_piece), resized_vocabulary(pieces, rows), sentence_piece);
  return load_sentence_piece(bytes, sentence_piece, side);
}

/// The target has a vocabulary of its own if tokenizer_config.json says so, or is not there.
Tokenizers read_tokenizers(const fs::path& folder, int source_rows, int target_rows, Notes& notes) {
  const fs::path source = folder / "vocab.json", own = folder / "target_vocab.json",
                 settings = folder / "tokenizer_config.json";
  const bool separate =
      fs::exists(own) && (!fs::exists(settings) || JsonKeys(settings).get("separate_vocabs", false));
  if (!separate && fs::exists(own))
    notes.warn("{}: has no effect, since separate_vocabs is not true in tokenizer_config.json", own.string());
  const fs::path target = separate ? own : source;
  return make_tokenizer_pair(read_tokenizer(folder / "source.spm", source, source_rows, TextSide::source),
                             read_tokenizer(folder / "target.spm", target, target_rows, TextSide::target));
}

/// The languages that tokenizer_config.json names, if it does.
TranslationSettings read_languages(const fs::path& folder) {
  const fs::path path = folder / "tokenizer_config.json";
  if (!fs::exists(path)) return {};
  const JsonKeys keys(path);
  const auto code = [&](const char* key) {
    const std::string name = keys.get<std::string>(key, "");
    return is_language_code(name) ? name : "";
  };
  return {code("source_lang"), code("target_lang")};
}

Imported read_marian_mt(const ImportSource& source) {
  const fs::path folder(source.path);
  ModelConfig config;
  const JsonKeys keys(folder / "config.json");
  static_cast<Architecture&>(config) = architecture_of(keys);
  const TensorMap tensors = with_prefix(read_tensors(folder), marian_mt_rules(config), "model.");
  config.output_bias = tensors.find("final_logits_bias") != nullptr;
  set_positions(tensors, config);
  const NameRules rules = marian_mt_rules(config);
  const bool joint = config.shares_embedding();
  const auto rows = [&](const char* own) {
    return rows_of(tensors, rules, joint ? "shared.weight" : own, config.d_model);
  };
  Imported imported{.step = hugging_face_step, .origin = source.path};
  imported.tokenizers = read_tokenizers(folder, rows("encoder.embed_tokens.weight"),
                                        rows("decoder.embed_tokens.weight"), imported.notes);
  bind_tokenizers(config, imported.tokenizers);
  config.task = TranslationSettings::task;
  config.settings = write_options(read_languages(folder));
  config.bos = -1;  // targets begin with decoder_start_token_id, and only bad_words_ids are suppressed
  const ImportedGeneration read =
      read_generation_config(folder, {.eos = config.eos, .target_tokens = config.target_vocab}, imported.notes);
  config.generation = read.generation;
  config.decoder_start_token = read.decoder_start_token;
  validate_described(config, keys.path());
  imported.model = read_weights(tensors, rules, config);
  return imported;
}

/// Whether the model's vocabulary already ends with the padding token, which MarianMTModel uses as start token.
bool has_pad(const ExportSource& source) {
  return source.tokenizers.target->token_text(source.model.config().target_vocab - 1) == pad;
}

/// Throws an input error if MarianMTModel does not support the model.
void check_marian_architecture(const ExportSource& source) {
  const ModelConfig& c = source.model.config();
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, marian_mt_class, difference);
  };
  need_usual_network(source, marian_mt_class, {"decoder_heads", "decoder_d_ff"});
  need(c.preprocess.empty() && c.postprocess_top.empty() &&
           !has_step(c.postprocess_embedding, ProcessStep::norm) && c.postprocess == Architecture().postprocess,
       "its norms are not placed as in the paper, as with model.preset and no other settings of norms");
  need_added_positions(source, marian_mt_class);
  need(c.norm == Norm::layer, "norm is not 'layer'");
  need(!c.feed_forward_gate && c.feed_forward_bias, "its feed-forward layers have a gate or no biases");
  need(std::ranges::count(activations, c.activation, [](const auto& pair) { return pair.second; }) > 0,
       fmt::format("its activation is '{}'", name_of_enum(c.activation)));
  need_even_heads(source, marian_mt_class);
  need(c.source_vocab == c.target_vocab,
       "its vocabularies differ in size, but MarianMTModel has one id for the padding token in both");
  need(c.decoder_start_token == ModelConfig::zero_start ||
           (has_pad(source) && c.decoder_start_token == c.target_vocab - 1),
       fmt::format(
           "its decoder begins with token {}, but that of MarianMTModel begins with an embedding of zeros",
           c.decoder_start_token));
  need(c.generation.word_penalty == 0, fmt::format("its word_penalty is {}", c.generation.word_penalty));
  need(c.generation.coverage_penalty == 0,
       fmt::format("its coverage_penalty is {}", c.generation.coverage_penalty));
  need(source.tokenizers.source->kind() == TokenizerKind::sentencepiece &&
           source.tokenizers.target->kind() == TokenizerKind::sentencepiece,
       "its tokenizer is not SentencePiece");
}

/// The config of the MarianMTModel. `tokens` is the size of its vocabulary, whose last token is the padding
/// token.
ModelConfig exported_config(const ModelConfig& own, int tokens) {
  ModelConfig c = own;
  c.source_vocab = c.target_vocab = tokens;
  c.decoder_start_token = tokens - 1;
  c.bos = -1;
  c.output_bias = true;
  c.norm_epsilon = 1e-5f;
  c.postprocess_embedding = Architecture().postprocess_embedding;
  c.beyond_positions = Architecture().beyond_positions;
  c.generation = exported_generation(own, /*pad=*/tokens - 1, max_exported_positions - 1);
  return c;
}

ordered_json config_json(const ModelConfig& c, int positions) {
  const auto activation =
      std::ranges::find(activations, c.activation, [](const auto& pair) { return pair.second; });
  ordered_json json{{"architectures", {marian_mt_class}},
                    {"model_type", "marian"},
                    {"is_encoder_decoder", true},
                    {"vocab_size", c.target_vocab},
                    {"decoder_vocab_size", c.target_vocab},
                    {"d_model", c.d_model},
                    {"encoder_layers", c.encoder_layers},
                    {"decoder_layers", c.decoder_layers},
                    {"encoder_attention_heads", c.heads},
                    {"decoder_attention_heads", c.of_decoder().heads},
                    {"encoder_ffn_dim", c.d_ff},
                    {"decoder_ffn_dim", c.of_decoder().d_ff},
                    {"activation_function", activation->first},
                    {"dropout", shortest_decimal(c.dropout)},
                    {"attention_dropout", shortest_decimal(c.attention_dropout)},
                    {"activation_dropout", shortest_decimal(c.activation_dropout)},
                    {"scale_embedding", c.embedding_scale},
                    {"static_position_embeddings", true},
                    {"normalize_before", false},
                    {"normalize_embedding", false},
                    {"add_final_layer_norm", false},
                    {"add_bias_logits", false},
                    {"max_position_embeddings", positions},
                    {"share_encoder_decoder_embeddings", c.shares_embedding()},
                    {"tie_word_embeddings", c.shares_output()},
                    {"torch_dtype", "float32"}};
  json["decoder_start_token_id"] = json["pad_token_id"] = c.decoder_start_token;
  json["eos_token_id"] = c.eos;
  json["forced_eos_token_id"] = forced_end(c.generation, c.eos);
  return json;
}

/// The pieces of the vocabulary, with the padding token as the last one. Another piece with its name is
/// renamed.
std::vector<std::string> padded_pieces(const Tokenizer& tokenizer, int tokens) {
  std::vector<std::string> pieces = pieces_of(tokenizer);
  std::replace(pieces.begin(), pieces.begin() + std::min<ptrdiff_t>(tokens - 1, std::ssize(pieces)),
               std::string(pad), std::string("<own_pad>"));
  if (std::ssize(pieces) < tokens) pieces.emplace_back(pad);
  return pieces;
}

void write_tokenizers(const fs::path& folder, const Tokenizers& tokenizers, const Exported& exported) {
  const ModelConfig& config = exported.config;
  const bool joint = config.shares_embedding();
  write_file_atomically(folder / "source.spm", plain_model(tokenizers.source->serialized(), TextSide::source));
  write_file_atomically(folder / "target.spm", plain_model(tokenizers.target->serialized(), TextSide::target));
  write_file_atomically(folder / "vocab.json", vocabulary_json(exported.source_pieces));
  if (!joint) write_file_atomically(folder / "target_vocab.json", vocabulary_json(exported.target_pieces));
  ordered_json settings = {{"tokenizer_class", "MarianTokenizer"},
                           {"unk_token", "<unk>"},
                           {"eos_token", "</s>"},
                           {"pad_token", pad},
                           {"model_max_length", max_exported_source},
                           {"separate_vocabs", !joint}};
  const auto languages = settings_of<TranslationSettings>(config);
  if (!languages.source_language.empty()) settings["source_lang"] = languages.source_language;
  if (!languages.target_language.empty()) settings["target_lang"] = languages.target_language;
  write_json(folder / "tokenizer_config.json", settings);
}

Exported write_marian_mt(const ExportSource& source, const std::string& output) {
  check_marian_architecture(source);
  const ModelConfig& own = source.model.config();
  const int tokens = own.target_vocab + (has_pad(source) ? 0 : 1);
  Exported exported;
  exported.config = exported_config(own, tokens);
  exported.config.settings = write_options(plain_settings(source, marian_mt_class));
  exported.source_pieces = padded_pieces(*source.tokenizers.source, tokens);
  exported.target_pieces = padded_pieces(*source.tokenizers.target, tokens);
  ModelConfig& config = exported.config;
  const int positions = std::max(config.generation.length_offset + 1, default_positions);
  const auto converted = std::make_shared<const MarianMTWeights>(source.model, positions);
  exported.values = [converted](const Parameter& weight) { return converted->values(weight); };
  const std::optional<Matrix>& table = converted->positions();
  config.positions = table ? formula_of(*table).value_or(Positions::learned) : Positions::sinusoidal_halves;
  if (config.positions == Positions::learned) config.max_positions = positions;

  const fs::path folder(output);
  write_json(folder / "config.json", config_json(config, positions));
  write_json(folder / "generation_config.json", generation_json(config, /*pad=*/config.decoder_start_token));
  write_weights(folder / "model.safetensors", marian_mt_rules(config, table), config, exported.values);
  write_tokenizers(folder, source.tokenizers, exported);
  write_file_atomically(folder / "README.md", model_card(own, source.tokenizers, source.folder));
  return exported;
}

}  // namespace

Family marian_mt_family() {
  return {.program = &hugging_face,
          .name = "marian",
          .class_name = marian_mt_class,
          .title = "MarianMTModel",
          .recognizes = has_model_type,
          .read = read_marian_mt,
          .exports = "translation models",
          .takes = [](const ModelConfig& c) { return c.task == TranslationSettings::task; },  // all others
          .write = write_marian_mt};
}

}  // namespace sixfold
