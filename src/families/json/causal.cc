#include "families/json/causal.h"

#include <algorithm>

#include "families/json/chat_template.h"
#include "families/json/sentence_piece_json.h"
#include "families/json/start_token.h"
#include "families/model_card.h"
#include "model_folder/binding.h"
#include "text/chat_format.h"
#include "text/sentence_piece.h"
#include "text/tokenizer_json.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* embedding = "decoder.embed_tokens.weight";

/// The names of activations in transformers. The first name of an activation is the one that is written.
constexpr std::pair<std::string_view, Activation> activation_names[] = {
    {"gelu_new", Activation::tanh_gelu},
    {"gelu_pytorch_tanh", Activation::tanh_gelu},
    {"gelu_fast", Activation::tanh_gelu},
    {"gelu", Activation::gelu},
    {"quick_gelu", Activation::sigmoid_gelu},
    {"relu", Activation::relu},
    {"silu", Activation::swish},
    {"swish", Activation::swish}};

/// A tokenizer, and the token that transformers puts before each text; -1: none.
struct StartingTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  int start = -1;
};

/// The number of tokens of a SentencePiece model.
int pieces_of_model(const fs::path& path) {
  return load_sentence_piece(read_regular_file(path), path, TextSide::exact)->vocab_size();
}

/// Whether tokenizer.json says something else than the SentencePiece model that was written beside it: other
/// added tokens, or other ids of usual texts. A file that can't be read says nothing.
bool differs(const Tokenizer& model, const nlohmann::json& all, const std::string& text,
             const TokenizerJsonSettings& settings, const fs::path& json) {
  for (const nlohmann::json& token : all.value("added_tokens", nlohmann::json::array())) {
    const auto id = token.is_object() ? token.value("id", nlohmann::json()) : nlohmann::json();
    if (!id.is_number_integer() || id < 0 || id >= model.vocab_size()) continue;
    const std::string piece =
        model.token_text(id.get<int32_t>());  // of a byte, tokenizer.json has the character
    if (!piece.starts_with("<0x") && token.value("content", nlohmann::json()) != piece) return true;
  }
  try {
    const auto other = load_tokenizer_json(add_settings(text, settings, json), json);
    return std::ranges::any_of(std::vector<std::string>{"a", "The old dog sleeps.", "In 1917, 3 x 4 = 12!"},
                               [&](const std::string& one) { return other->encode(one) != model.encode(one); });
  } catch (const Error&) {
    return false;
  }
}

/// Reads the tokenizer of a folder; `rows` is the number of tokens of the model. If there is a tokenizer.model
/// too, tokenizer.json is usually a copy of it in another form, and is read only for the token before texts. If
/// they differ, tokenizer.json is read, as by transformers.
StartingTokenizer read_tokenizer(const fs::path& folder, const SpecialIds& ids, int rows, Notes& notes) {
  const fs::path json = folder / "tokenizer.json", sentence_piece = folder / "tokenizer.model";
  const bool has_json = fs::exists(json), has_model = fs::exists(sentence_piece);
  require(has_json || has_model, "{}: has no tokenizer; expected tokenizer.json or tokenizer.model",
          folder.string());
  const std::string text = has_json ? read_regular_file(json) : "{}";
  const nlohmann::json all = parse_json(text, json);
  require(all.is_object(), "{}: expected a JSON object", json.string());
  const TokenizerJsonSettings settings{.bos = ids.bos, .eos = ids.eos, .size = rows};
  StartingTokenizer result;
  if (has_model && (!has_json || pieces_of_model(sentence_piece) == rows)) {
    std::string model = read_regular_file(sentence_piece);
    model = splits_by_lines(all) ? mark_imported(std::move(model), sentence_piece)
                                 : mark_whole_texts(std::move(model), sentence_piece);
    result.tokenizer = load_sentence_piece(model, sentence_piece, TextSide::exact);
    require(result.tokenizer->vocab_size() == rows, "{}: has {} tokens, but the model has {}",
            sentence_piece.string(), result.tokenizer->vocab_size(), rows);
    if (has_json && differs(*result.tokenizer, all, text, settings, json)) {
      notes.warn("{}: tokenizes in another way than {}, and is read, as by transformers", json.string(),
                 sentence_piece.string());
      result.tokenizer = nullptr;
    }
  }
  if (!result.tokenizer) result.tokenizer = load_tokenizer_json(add_settings(text, settings, json), json);
  result.start =
      has_json ? start_of_post_processor(all, json) : start_of_sentence_piece(folder, *result.tokenizer, notes);
  require(result.start < rows, "{}: post_processor puts the id {} before a text, but the model has {} tokens",
          json.string(), result.start, rows);
  for (const char* key : {"truncation", "padding"})
    if (all.contains(key) && !all[key].is_null())
      notes.warn("{}: {} has no effect; texts are read as they are", json.string(), key);
  return result;
}

/// The tokenizer.json of a tokenizer, which puts the same token before texts as the model. That of an imported
/// tokenizer is unchanged if it does so already.
std::string tokenizer_json(const Tokenizer& tokenizer, const ModelConfig& c, const std::string& origin) {
  const int start = c.generation.start_before_text ? c.decoder_start_token : -1;
  nlohmann::json json;
  if (tokenizer.kind() == TokenizerKind::tokenizer_json) {
    std::string text(tokenizer_json_of(tokenizer.serialized()));
    json = nlohmann::json::parse(text);
    if (start_of_post_processor(json, origin) == start) return text;
  } else {
    json = tokenizer_json_of_sentence_piece(plain_model(tokenizer.serialized(), TextSide::exact),
                                            !tokenizer.encodes_whole_texts(), origin);
  }
  json["post_processor"] = post_processor_with_start(start, tokenizer.token_text(c.decoder_start_token));
  return json.dump(2) + "\n";
}

/// transformers reads only tokenizer.json. tokenizer.model is written for other programs, and for importing the
/// model again.
void write_tokenizer(const fs::path& folder, const Tokenizer& tokenizer, const ModelConfig& c,
                     const std::string& origin) {
  ordered_json settings{{"tokenizer_class", "PreTrainedTokenizerFast"},
                        {"bos_token", tokenizer.token_text(c.decoder_start_token)},
                        {"eos_token", tokenizer.token_text(c.eos)}};
  if (tokenizer.kind() == TokenizerKind::sentencepiece) {
    settings["unk_token"] = tokenizer.token_text(tokenizer.unk());
    write_file_atomically(folder / "tokenizer.model", plain_model(tokenizer.serialized(), TextSide::exact));
  }
  settings["add_bos_token"] = c.generation.start_before_text;
  const ChatSettings chat = settings_of<LanguageModelSettings>(c).chat;
  if (const ChatFormat* format = chat_format_named(chat.format))
    settings["chat_template"] = chat_template_of(*format, chat.system, c.generation.start_before_text);
  write_file_atomically(folder / "tokenizer.json", tokenizer_json(tokenizer, c, origin));
  write_json(folder / "tokenizer_config.json", settings);
}

}  // namespace

void set_causal_tokens(ModelConfig& config, const Tokenizers& tokenizers, const SpecialIds& ids, int start,
                       LanguageModelSettings settings) {
  bind_tokenizers(config, tokenizers);
  config.eos = ids.eos;
  config.bos = -1;  // transformers does not suppress it
  config.generation.start_before_text = start >= 0;
  // Without a start token, a text begins after the end token of another text.
  config.decoder_start_token = start >= 0 ? start : ids.bos >= 0 ? ids.bos : ids.eos;
  config.task = LanguageModelSettings::task;
  settings.text_unit = TextUnit::file;
  settings.more_ends = ids.more_ends;
  config.settings = write_options(settings);
}

Architecture causal_architecture() {
  Architecture a;
  a.encoder_layers = 0;
  a.preprocess = {ProcessStep::norm};
  a.postprocess = {ProcessStep::dropout, ProcessStep::add};
  a.postprocess_top = {ProcessStep::norm};
  a.embedding_scale = false;
  return a;
}

void set_window(int window, const std::string& key, ModelConfig& config) {
  if (window == 0 || window >= config.context_tokens) return;
  require(window >= 2, "{} is {}; a token would attend to itself alone", key, window);
  config.decoder_mixer = MixerKind::restricted_attention;
  config.attention_window = window - 1;  // neighbours besides the token itself
}

Activation causal_activation(const JsonKeys& keys, const char* key, const char* default_value) {
  const std::string name = keys.get<std::string>(key, default_value);
  for (const auto& [theirs, activation] : activation_names)
    if (theirs == name) return activation;
  throw_input_error("{}: {} is {}; only gelu_new, gelu_fast, gelu, quick_gelu, relu and silu are supported",
                    keys.path(), key, name);
}

std::string_view causal_activation_name(Activation activation) {
  const auto found =
      std::ranges::find(activation_names, activation, [](const auto& pair) { return pair.second; });
  return found == std::end(activation_names) ? std::string_view() : found->first;
}

Imported read_causal(const ImportSource& source, const JsonKeys& keys, const TensorMap& tensors,
                     CausalModel theirs) {
  ModelConfig& config = theirs.config;
  const int rows = rows_of(tensors, theirs.rules, embedding, config.d_model),
            tokens = keys.positive("vocab_size", rows);
  require(tokens == rows, "{}: vocab_size is {}, but the embedding has {} rows; correct vocab_size",
          keys.path(), tokens, rows);
  const fs::path folder(source.path);
  Imported imported{.step = hugging_face_step, .origin = source.path};
  const SpecialIds ids = read_special_ids(folder, theirs.default_ids, rows);
  const StartingTokenizer read = read_tokenizer(folder, ids, rows, imported.notes);
  imported.tokenizers = {read.tokenizer, read.tokenizer, true};
  auto [generation, settings] = read_text_generation_config(
      folder, {.eos = ids.eos, .target_tokens = rows, .more_ends = ids.more_ends}, imported.notes);
  config.generation = std::move(generation);
  if (const auto jinja = read_chat_template(folder))
    settings.chat = chat_of_template(*jinja, *read.tokenizer, read.start >= 0, source.path, imported.notes);
  set_causal_tokens(config, imported.tokenizers, ids, read.start, std::move(settings));
  validate_described(config, keys.path());
  imported.model = read_weights(tensors, theirs.rules, config);
  return imported;
}

void check_causal_model(const ExportSource& source, std::string_view class_name,
                        std::initializer_list<std::string_view> supported) {
  need_usual_network(source, class_name, supported);
  const ModelConfig& c = source.model.config();
  const auto need = [&](bool condition, const std::string& difference) {
    source.need(condition, class_name, difference);
  };
  need(c.preprocess == std::vector{ProcessStep::norm} && c.postprocess_top == std::vector{ProcessStep::norm} &&
           !has_step(c.postprocess, ProcessStep::norm) && has_step(c.postprocess, ProcessStep::add) &&
           !has_step(c.postprocess_embedding, ProcessStep::norm),
       "its norms are not before the sub-layers, with one at the top");
  need(is_self_attention(c.decoder_mixer) && c.attention_score == Architecture().attention_score,
       "its decoder_mixer or attention_score is not the paper's");
  need(!causal_activation_name(c.activation).empty(),
       fmt::format("its activation is '{}'", name_of_enum(c.activation)));
  need(c.d_model % c.heads == 0, "d_model is not divisible by the number of heads");
  need(!c.embedding_scale, "it multiplies embeddings by sqrt(d_model) (embedding_scale)");
  need(!c.output_bias, "its output projection has a bias (output_bias)");
  need(c.decoder_start_token >= 0, "its texts begin with an embedding of zeros instead of a start token");
  const TokenizerKind kind = source.tokenizers.target->kind();
  need(kind == TokenizerKind::tokenizer_json || kind == TokenizerKind::sentencepiece,
       fmt::format("its tokenizer is of the kind '{}'; tokenizer_json and sentencepiece have a form there",
                   name_of_enum(kind)));
}

ModelConfig exported_causal_config(const ModelConfig& config) {
  ModelConfig c = config;
  const Architecture defaults = causal_architecture();
  c.postprocess = defaults.postprocess;
  c.postprocess_embedding = defaults.postprocess_embedding;
  c.tied_embeddings = c.shares_output() ? TiedEmbeddings::decoder : TiedEmbeddings::none;
  c.activation_dropout = 0;
  c.bos = -1;
  auto [generation, settings] = exported_text_generation(config);
  c.generation = std::move(generation);
  c.settings = write_options(settings);
  return c;
}

Exported write_causal(const ExportSource& source, const std::string& output, std::string_view class_name,
                      const CausalModel& theirs, const ordered_json& own_keys) {
  const fs::path folder(output);
  const ModelConfig& c = theirs.config;
  const Transformer& model = source.model;
  const Tokenizer& tokenizer = *source.tokenizers.target;
  ordered_json json{{"architectures", {class_name}}, {"vocab_size", c.target_vocab}};
  json["bos_token_id"] = c.decoder_start_token;
  json["eos_token_id"] = end_tokens_json(c);
  json["tie_word_embeddings"] = c.shares_output();
  json["dtype"] = "float32";
  json.update(own_keys);
  write_json(folder / "config.json", json);
  write_json(folder / "generation_config.json", text_generation_json(c));
  Exported exported;
  exported.config = c;
  exported.values = [&model](const Parameter& weight) {
    if (weight.name.ends_with("_proj.bias") && !model.config().attention_bias)
      return std::vector<float>(static_cast<size_t>(weight.tensor.size()));
    const bool shared = weight.name == embedding && model.config().shares_embedding();
    std::vector<float> own = values_of(model, shared ? "shared.weight" : weight.name);
    // Only the positions that the model can read at once are written.
    own.resize(static_cast<size_t>(weight.tensor.size()));
    return own;
  };
  write_weights(folder / "model.safetensors", theirs.rules, c, exported.values);
  write_tokenizer(folder, tokenizer, c, source.folder);
  write_file_atomically(folder / "README.md", language_model_card(model.config(), class_name, source.folder));
  exported.source_pieces = exported.target_pieces = pieces_of(tokenizer);
  return exported;
}

}  // namespace sixfold
