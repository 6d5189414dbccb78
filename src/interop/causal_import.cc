#include <cmath>

#include "base/log.h"
#include "infer/binding.h"
#include "interop/causal.h"
#include "interop/causal_names.h"
#include "interop/folder.h"
#include "interop/json/keys.h"
#include "interop/vocabulary.h"
#include "model/provenance.h"
#include "text/byte_pairs.h"
#include "text/sentence_piece.h"

// The meaning of keys and tensors is defined in transformers' configuration and modeling files of gpt2, llama
// and mistral.

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// What both kinds have in common: a decoder with norms before its sub-layers.
Architecture causal_architecture() {
  Architecture a;
  a.encoder_layers = 0;
  a.preprocess = {ProcessStep::norm};
  a.postprocess = {ProcessStep::dropout, ProcessStep::add};
  a.postprocess_top = {ProcessStep::norm};
  a.embedding_scale = false;
  return a;
}

Activation activation_of(const JsonKeys& keys, const char* key, const std::string& usual) {
  const std::string name = keys.get<std::string>(key, usual);
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::tanh_gelu;
  if (name == "silu" || name == "swish") return Activation::swish;
  if (name == "relu") return Activation::relu;
  if (name == "quick_gelu") return Activation::sigmoid_gelu;
  require(name == "gelu", "{}: {} is {}; only gelu_new, gelu, quick_gelu, relu and silu are supported",
          keys.path(), key, name);
  return Activation::gelu;
}

Architecture gpt2_architecture(const JsonKeys& keys) {
  keys.require_is("scale_attn_weights", true, true);
  for (const char* key : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"})
    keys.require_is(key, false, false);
  Architecture a = causal_architecture();
  a.d_model = keys.size("n_embd");
  a.heads = keys.size("n_head");
  a.d_ff = keys.count("n_inner", 4 * a.d_model);
  a.decoder_layers = keys.size("n_layer");
  a.positions = Positions::learned;
  a.max_positions = keys.size("n_positions");
  a.beyond_positions = BeyondPositions::error;
  a.activation = activation_of(keys, "activation_function", "gelu_new");
  a.norm_epsilon = keys.get("layer_norm_epsilon", 1e-5f);
  a.tied_embeddings = keys.get("tie_word_embeddings", true) ? TiedEmbeddings::decoder : TiedEmbeddings::none;
  a.dropout = keys.get("resid_pdrop", 0.1f);
  a.attention_dropout = keys.get("attn_pdrop", 0.1f);
  return a;
}

/// The base of the rotation, which older folders have as rope_theta, newer ones in rope_parameters.
float rotary_base(const JsonKeys& keys) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!keys.has(key)) continue;
    const nlohmann::json& rope = keys.at(key);
    require(rope.is_object(), "{}: {} is not an object", keys.path(), key);
    const auto kind = rope.value("rope_type", rope.value("type", nlohmann::json("default")));
    require(kind == "default", "{}: {} has the type {}; only unscaled rotary positions are supported",
            keys.path(), key, kind.dump());
    if (const auto base = rope.value("rope_theta", nlohmann::json()); base.is_number())
      return base.get<float>();
  }
  return keys.get("rope_theta", 10000.0f);
}

Architecture llama_architecture(const JsonKeys& keys) {
  require(!keys.has("sliding_window") || keys.get<std::string>("model_type", "") == "llama",
          "{}: sliding_window is set; only full attention is supported", keys.path());
  Architecture a = causal_architecture();
  a.d_model = keys.size("hidden_size");
  a.heads = keys.size("num_attention_heads");
  a.kv_heads = keys.count("num_key_value_heads", a.heads);
  a.d_k = a.d_v = keys.count("head_dim", 0);
  a.d_ff = keys.size("intermediate_size");
  a.decoder_layers = keys.size("num_hidden_layers");
  a.positions = Positions::rotary;
  a.rotary_base = rotary_base(keys);
  a.activation = activation_of(keys, "hidden_act", "silu");
  a.feed_forward_gate = true;
  a.feed_forward_bias = keys.get("mlp_bias", false);
  a.norm = Norm::rms;
  a.norm_epsilon = keys.get("rms_norm_eps", 1e-6f);
  a.tied_embeddings = keys.get("tie_word_embeddings", false) ? TiedEmbeddings::decoder : TiedEmbeddings::none;
  a.dropout = 0;
  a.attention_dropout = keys.get("attention_dropout", 0.0f);
  return a;
}

Matrix zeros(int64_t cols) { return {1, cols, std::vector<float>(static_cast<size_t>(cols))}; }

/// The rows [begin, begin + count) of a matrix, or the columns of a bias.
Matrix part_of(const Matrix& whole, int64_t begin, int64_t count) {
  const bool bias = whole.rows == 1;
  const int64_t width = bias ? 1 : whole.cols;
  const auto first = whole.values.begin() + begin * width;
  return {bias ? 1 : count, bias ? count : whole.cols, {first, first + count * width}};
}

std::string layer_name(int layer) { return fmt::format("decoder.layers.{}.", layer); }

void read_embeddings(WeightReader& reader, const Architecture& a, const std::string& embedding,
                     NamedMatrices& weights) {
  const Matrix& table = weights["decoder.embed_tokens.weight"] = reader.take(embedding, -1, a.d_model);
  if (a.tied_embeddings == TiedEmbeddings::none) {
    weights["output_projection.weight"] = reader.take("lm_head.weight", table.rows, a.d_model);
  } else if (reader.has("lm_head.weight")) {
    require(reader.take("lm_head.weight").values == table.values,
            "tensor 'lm_head.weight' differs from the tensor that it is tied to");
  }
}

NamedMatrices read_gpt2(WeightReader& reader, const Architecture& a) {
  const std::string prefix = reader.has("wte.weight") ? "" : "transformer.";
  NamedMatrices weights;
  read_embeddings(reader, a, prefix + "wte.weight", weights);
  weights["embed_positions.weight"] = reader.take(prefix + "wpe.weight", a.max_positions, a.d_model);
  for (const char* part : {"weight", "bias"})
    weights[fmt::format("decoder.layer_norm.{}", part)] = reader.take(prefix + "ln_f." + part, 1, a.d_model);
  for (int layer = 0; layer < a.decoder_layers; ++layer) {
    const std::string ours = layer_name(layer), theirs = fmt::format("{}h.{}.", prefix, layer);
    for (const LayerWeight& weight : gpt2_layer())
      weights[ours + weight.ours] = from_stored(reader.take(theirs + weight.theirs), weight.stored, a);
    const Matrix weight = transposed(reader.take(theirs + "attn.c_attn.weight", a.d_model, 3 * a.d_model)),
                 bias = reader.take(theirs + "attn.c_attn.bias", 1, 3 * a.d_model);
    for (int part = 0; part < 3; ++part) {
      const std::string name = ours + "self_attn." + "qkv"[part] + "_proj.";
      weights[name + "weight"] = part_of(weight, part * a.d_model, a.d_model);
      weights[name + "bias"] = part_of(bias, part * a.d_model, a.d_model);
    }
    for (const char* mask : {"attn.bias", "attn.masked_bias"}) reader.skip(theirs + mask);  // constants
  }
  return weights;
}

NamedMatrices read_llama(WeightReader& reader, const Architecture& a, bool attention_bias) {
  NamedMatrices weights;
  read_embeddings(reader, a, "model.embed_tokens.weight", weights);
  weights["decoder.layer_norm.weight"] = reader.take("model.norm.weight", 1, a.d_model);
  for (int layer = 0; layer < a.decoder_layers; ++layer) {
    const std::string ours = layer_name(layer), theirs = fmt::format("model.layers.{}.", layer);
    for (const LayerWeight& weight : llama_layer(a, attention_bias))
      weights[ours + weight.ours] = from_stored(reader.take(theirs + weight.theirs), weight.stored, a);
    reader.skip(theirs + "self_attn.rotary_emb.inv_freq");
    if (attention_bias) continue;
    for (const char* part : {"q", "k", "v", "out"}) {
      const std::string name = fmt::format("{}self_attn.{}_proj.", ours, part);
      weights[name + "bias"] = zeros(weights.at(name + "weight").rows);
    }
  }
  return weights;
}

/// The first id of a key that may be a number or a list of them.
int first_id(const JsonKeys& keys, const char* key, int otherwise) {
  if (!keys.has(key)) return otherwise;
  const nlohmann::json& value = keys.at(key);
  const nlohmann::json& id = value.is_array() && !value.empty() ? value[0] : value;
  require(id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < (1 << 30),
          "{}: {} is {}; expected an id", keys.path(), key, value.dump());
  if (value.is_array() && value.size() > 1)
    log_warning("{}: {} has {} ids; texts end with the first of them alone, {}", keys.path(), key, value.size(),
                id.dump());
  return id.get<int>();
}

Tokenizers read_tokenizer(const fs::path& folder, const BytePairSettings& settings) {
  const fs::path json = folder / "tokenizer.json", sentence_piece = folder / "tokenizer.model";
  std::shared_ptr<const Tokenizer> tokenizer;
  if (fs::exists(sentence_piece)) {
    tokenizer = load_sentence_piece(read_regular_file(sentence_piece), sentence_piece, Spaces::keep);
    require(tokenizer->vocab_size() == settings.size, "{}: has {} tokens, but the model has {}",
            sentence_piece.string(), tokenizer->vocab_size(), settings.size);
  } else {
    require(fs::exists(json), "{}: has no tokenizer; expected tokenizer.json or tokenizer.model",
            folder.string());
    const std::string file = add_settings(read_regular_file(json), settings, json);
    tokenizer = load_byte_pairs(file, json);
  }
  return {tokenizer, tokenizer, true};
}

/// Names the settings of `generate` that change its texts and are not part of a model here.
void warn_of_sampling(const fs::path& folder) {
  const fs::path path = folder / "generation_config.json";
  if (!fs::exists(path)) return;
  const JsonKeys keys(path);
  std::string given;
  for (const char* key :
       {"temperature", "top_k", "top_p", "min_p", "repetition_penalty", "no_repeat_ngram_size"})
    if (keys.has(key)) given += fmt::format("{}{} {}", given.empty() ? "" : ", ", key, keys.at(key).dump());
  if (!given.empty())
    log_warning("{}: {} are not stored with the model; give them to 'sixfold generate'", path.string(), given);
}

}  // namespace

bool is_causal_model_type(std::string_view type) {
  return type == "gpt2" || type == "llama" || type == "mistral";
}

void import_causal_model(const fs::path& folder, const JsonKeys& keys, const std::string& output) {
  const bool gpt2 = keys.get<std::string>("model_type", "") == "gpt2";
  ModelConfig config;
  static_cast<Architecture&>(config) = gpt2 ? gpt2_architecture(keys) : llama_architecture(keys);
  validate(static_cast<const Architecture&>(config));
  const TensorMap tensors = read_tensors(folder);
  WeightReader reader(tensors);
  const NamedMatrices weights =
      gpt2 ? read_gpt2(reader, config) : read_llama(reader, config, keys.get("attention_bias", false));
  reader.require_all_taken();

  const auto rows = static_cast<int>(weights.at("decoder.embed_tokens.weight").rows);
  const int usual = gpt2 ? 50256 : -1, eos = first_id(keys, "eos_token_id", gpt2 ? 50256 : 2);
  const int bos = first_id(keys, "bos_token_id", usual);
  const Tokenizers tokenizers = read_tokenizer(folder, {.bos = bos, .eos = eos, .size = rows});
  bind_tokenizers(config, tokenizers);
  config.eos = eos;
  config.decoder_start_token = bos >= 0 ? bos : eos;
  config.bos = -1;  // transformers does not suppress it
  config.generation.start_before_text = !gpt2;
  config.context_tokens = gpt2 ? config.max_positions : keys.count("max_position_embeddings", 2048);
  config.text_unit = TextUnit::file;
  warn_of_sampling(folder);
  write_model_folder(output, *build_model(config, weights), tokenizers, [](const std::string& path) {
    write_provenance(path, {}, R"({"step": "import", "from": "hugging_face"})");
  });
}

}  // namespace sixfold
