#include "interop/hugging_face.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "formats/safetensors.h"
#include "formats/torch_file.h"
#include "interop/vocabulary.h"
#include "interop/weights.h"
#include "model/history.h"
#include "model/ownership.h"
#include "model/positions.h"
#include "text/sentence_piece.h"
#include "translate/sealed.h"

// What keys and tensors mean stands in transformers' configuration_marian.py, modeling_marian.py and
// generation/.

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A configuration file's keys, each with its default there.
class Keys {
 public:
  explicit Keys(const std::string& path) : path_(path), json_(parse_json(read_file(path), path)) {
    require(json_.is_object(), "{}: expected an object of keys", path);
  }

  bool has(const char* key) const { return names(key) && !json_[key].is_null(); }
  /// Whether the key is there, be it as null.
  bool names(const char* key) const { return json_.contains(key); }
  const json& at(const char* key) const { return json_.at(key); }
  const std::string& path() const { return path_; }

  template <class T>
  T get(const char* key, T otherwise) const {
    if (!has(key)) return otherwise;
    const json& value = json_[key];
    const bool fits = std::is_same_v<T, bool>       ? value.is_boolean()
                      : std::is_integral_v<T>       ? value.is_number_integer()
                      : std::is_floating_point_v<T> ? value.is_number()
                                                    : value.is_string();
    require(fits, "{}: {} is {}, which is not of its type", path_, key, value.dump());
    return value.get<T>();
  }
  template <class T>
  void require_is(const char* key, T otherwise, T wanted) const {
    const T found = get<T>(key, otherwise);
    require(found == wanted, "{}: {} is {}; only models with {} are read here", path_, key, found, wanted);
  }
  int size(const char* key) const {
    const int64_t found = get<int64_t>(key, -1);
    require(found >= 0 && found < (1 << 30), "{}: {} is missing, or no size", path_, key);
    return static_cast<int>(found);
  }

 private:
  std::string path_;
  json json_;
};

TensorMap read_tensors(const fs::path& folder) {
  const auto whole = folder / "model.safetensors", parts = folder / "model.safetensors.index.json",
             torch = folder / "pytorch_model.bin";
  if (fs::exists(whole)) return read_safetensors(whole);
  if (fs::exists(parts)) return read_sharded_safetensors(parts);
  require(fs::exists(torch),
          "{}: there are no weights: no model.safetensors, no index of its parts, no pytorch_model.bin",
          folder.string());
  return read_torch(torch);
}

Activation activation_of(const Keys& config) {
  const std::string name = config.get<std::string>("activation_function", "gelu");
  if (name == "relu") return Activation::relu;
  if (name == "swish" || name == "silu") return Activation::swish;
  if (name == "quick_gelu") return Activation::sigmoid_gelu;
  require(name == "gelu", "{}: activation_function is {}; relu, swish, silu, gelu and quick_gelu are read here",
          config.path(), name);
  return Activation::gelu;
}

TiedEmbeddings tied_of(const Keys& config) {
  const bool joint = config.get("share_encoder_decoder_embeddings", true),
             output = config.get("tie_word_embeddings", true);
  if (joint) return output ? TiedEmbeddings::all : TiedEmbeddings::source;
  return output ? TiedEmbeddings::decoder : TiedEmbeddings::none;
}

Architecture architecture_of(const Keys& config) {
  config.require_is<std::string>("model_type", "", "marian");
  config.require_is("static_position_embeddings", true, true);
  for (const char* key : {"normalize_before", "normalize_embedding", "add_final_layer_norm"})
    config.require_is(key, false, false);
  Architecture a;
  a.d_model = config.size("d_model");
  a.heads = config.size("encoder_attention_heads");
  a.d_ff = config.size("encoder_ffn_dim");
  a.encoder_layers = config.size("encoder_layers");
  a.decoder_layers = config.size("decoder_layers");
  config.require_is<int64_t>("decoder_attention_heads", a.heads, a.heads);
  config.require_is<int64_t>("decoder_ffn_dim", a.d_ff, a.d_ff);
  a.tied_embeddings = tied_of(config);
  a.activation = activation_of(config);
  a.positions = Positions::sinusoidal_halves;
  a.embedding_scale = config.get("scale_embedding", false);
  a.output_bias = true;
  a.dropout = config.get("dropout", 0.1f);
  a.attention_dropout = config.get("attention_dropout", 0.0f);
  a.activation_dropout = config.get("activation_dropout", 0.0f);
  return a;
}

/// The tables of positions follow from a formula. They may be there, but not with other numbers.
void check_positions(WeightReader& reader, const std::string& name, int d_model) {
  if (!reader.has(name)) return;
  const Matrix table = reader.take(name, -1, d_model);
  for (int64_t p = 0; p < table.rows; ++p)
    for (int64_t i = 0; i < d_model; ++i)
      require(
          std::abs(table.at(p, i) - sinusoidal_position(p, i, d_model, Positions::sinusoidal_halves)) < 1e-2,
          "tensor '{}': these positions are not the sinusoidal ones; learned ones are not read here", name);
}

/// What is tied may be there more than once, but only as the same numbers.
void check_copy(WeightReader& reader, const std::string& name, const Matrix& original) {
  if (reader.has(name))
    require(reader.take(name).values == original.values, "tensor '{}' differs from the one that it is tied to",
            name);
}

NamedMatrices read_embeddings(WeightReader& reader, const Architecture& a) {
  NamedMatrices weights;
  const bool joint = a.tied_embeddings == TiedEmbeddings::all || a.tied_embeddings == TiedEmbeddings::source;
  const bool output_tied =
      a.tied_embeddings == TiedEmbeddings::all || a.tied_embeddings == TiedEmbeddings::decoder;
  if (joint) {
    const Matrix& shared = weights["shared.weight"] = reader.take("model.shared.weight", -1, a.d_model);
    check_copy(reader, "model.encoder.embed_tokens.weight", shared);
    check_copy(reader, "model.decoder.embed_tokens.weight", shared);
  } else {
    for (const char* side : {"encoder", "decoder"}) {
      const std::string name = fmt::format("{}.embed_tokens.weight", side);
      weights[name] = reader.take("model." + name, -1, a.d_model);
    }
  }
  if (output_tied)
    check_copy(reader, "lm_head.weight", weights[joint ? "shared.weight" : "decoder.embed_tokens.weight"]);
  else
    weights["output_projection.weight"] = reader.take("lm_head.weight", -1, a.d_model);
  weights["output_projection.bias"] = reader.take("final_logits_bias", 1, -1);
  return weights;
}

NamedMatrices read_weights(const TensorMap& tensors, const Architecture& a) {
  WeightReader reader(tensors);
  NamedMatrices weights = read_embeddings(reader, a);
  const std::string prefix = "model.";
  for (const char* side : {"model.encoder", "model.decoder"})
    check_positions(reader, fmt::format("{}.embed_positions.weight", side), a.d_model);
  for (const std::string& name : tensors.names())
    if (name.starts_with("model.encoder.layers.") || name.starts_with("model.decoder.layers."))
      weights[name.substr(prefix.size())] = reader.take(name);
  reader.require_all_taken();
  return weights;
}

/// The settings of `generate`. They stand in generation_config.json; older folders have none and keep them in
/// config.json, where a missing key has another default.
class GenerationKeys {
 public:
  explicit GenerationKeys(const fs::path& folder)
      : config_(folder / "config.json"), own_file_(fs::exists(folder / "generation_config.json")) {
    if (own_file_) settings_.emplace(folder / "generation_config.json");
  }
  template <class T>
  T get(const char* key, T otherwise) const {
    return settings().get(key, otherwise);
  }
  bool has(const char* key) const { return settings().has(key); }
  const json& at(const char* key) const { return settings().at(key); }

  bool forces_end() const {
    return has("forced_eos_token_id") || (!own_file_ && !config_.names("forced_eos_token_id"));
  }
  int decoder_start() const {
    for (const char* key : {"decoder_start_token_id", "pad_token_id"})
      for (const Keys* keys : {&settings(), &config_})
        if (keys->has(key)) return static_cast<int>(keys->get<int64_t>(key, 0));
    return SearchRules::zero_start;
  }

 private:
  const Keys& settings() const { return own_file_ ? *settings_ : config_; }

  Keys config_;
  bool own_file_;
  std::optional<Keys> settings_;
};

std::vector<int> banned_symbols(const GenerationKeys& keys) {
  std::vector<int> banned;
  if (!keys.has("bad_words_ids")) return banned;
  for (const json& word : keys.at("bad_words_ids")) {
    require(word.is_array() && word.size() == 1 && word[0].is_number_integer(),
            "bad_words_ids has {}; only words of one symbol are read here", word.dump());
    banned.push_back(word[0].get<int>());
  }
  return banned;
}

void warn_of_unknown_rules(const GenerationKeys& keys) {
  const auto warn = [](const char* key) {
    log_warning("{} changes what `generate` puts out; it is not known here", key);
  };
  if (keys.get("no_repeat_ngram_size", int64_t{0}) != 0) warn("no_repeat_ngram_size");
  if (keys.get("repetition_penalty", 1.0) != 1.0) warn("repetition_penalty");
  if (keys.get("min_length", int64_t{0}) > 1) warn("min_length");
  if (keys.get("do_sample", false)) warn("do_sample");
  if (keys.has("forced_bos_token_id")) warn("forced_bos_token_id");
}

SearchRules search_rules(const GenerationKeys& keys) {
  warn_of_unknown_rules(keys);
  SearchRules rules;
  rules.beam_size = static_cast<int>(keys.get("num_beams", int64_t{1}));
  rules.normalization = ScoreNormalization::length;
  rules.alpha = static_cast<float>(keys.get("length_penalty", 1.0));
  rules.end = SearchEnd::best_is_no_better_now;
  if (keys.has("early_stopping")) {
    const json& early = keys.at("early_stopping");
    if (early == true) rules.end = SearchEnd::beam_finished;
    if (early == "never") rules.end = SearchEnd::best_cannot_improve;
  }
  rules.length_factor = 0;
  rules.length_offset =
      static_cast<int>(keys.get("max_length", int64_t{512})) - 1;  // there the start counts too
  rules.at_longest = keys.forces_end() ? AtLongest::certain_end : AtLongest::cut;
  rules.banned_symbols = banned_symbols(keys);
  rules.decoder_start = keys.decoder_start();
  return rules;
}

std::shared_ptr<const Tokenizer> read_tokenizer(const fs::path& sentence_piece, const fs::path& vocabulary,
                                                int64_t rows, Spaces spaces) {
  const std::string bytes =
      add_vocabulary(read_file(sentence_piece), fitted(read_vocabulary(vocabulary), rows), sentence_piece);
  return load_sentence_piece(bytes, sentence_piece, spaces);
}

}  // namespace

void import_hugging_face(const std::string& folder_name, const std::string& output) {
  require_new_or_model(output, {folder_name});
  const fs::path folder(folder_name);
  require(fs::is_regular_file(folder / "config.json"),
          "{}: no config.json; is it the folder of a MarianMTModel?", folder_name);
  const Keys keys(folder / "config.json");
  ModelConfig config;
  static_cast<Architecture&>(config) = architecture_of(keys);
  const TensorMap tensors = read_tensors(folder);
  const NamedMatrices weights = read_weights(tensors, config);

  const bool joint = weights.contains("shared.weight");
  const int64_t source_rows = weights.at(joint ? "shared.weight" : "encoder.embed_tokens.weight").rows,
                target_rows = weights.at(joint ? "shared.weight" : "decoder.embed_tokens.weight").rows;
  const fs::path source_vocabulary = folder / "vocab.json";
  const fs::path own = folder / "target_vocab.json",
                 target_vocabulary = fs::exists(own) ? own : source_vocabulary;
  const Tokenizers tokenizers = make_tokenizer_pair(
      read_tokenizer(folder / "source.spm", source_vocabulary, source_rows, Spaces::as_trained),
      read_tokenizer(folder / "target.spm", target_vocabulary, target_rows, Spaces::keep));
  seal(config, tokenizers);
  config.bos = -1;  // nothing begins a target but the start symbol, and only bad_words_ids are banned
  config.search = search_rules(GenerationKeys(folder));
  write_model_folder(output, *build_model(config, weights), tokenizers, [](const std::string& path) {
    write_history(path, {}, R"({"step": "import", "from": "hugging_face"})");
  });
}

}  // namespace sixfold
