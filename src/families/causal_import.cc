#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "families/causal.h"
#include "families/causal_config.h"
#include "families/causal_names.h"
#include "families/folder.h"
#include "families/json/keys.h"
#include "families/json/sentence_piece_json.h"
#include "families/json/start_token.h"
#include "model_folder/binding.h"
#include "model_folder/provenance.h"
#include "tasks/language_model/settings.h"
#include "text/byte_pairs.h"
#include "text/sentence_piece.h"

// The meaning of tensors is defined in transformers' modeling files of gpt2, llama and mistral.

namespace sixfold {
namespace {

namespace fs = std::filesystem;

Matrix zeros(int64_t cols) { return {1, cols, std::vector<float>(static_cast<size_t>(cols)), true}; }

/// The rows [begin, begin + count) of a matrix, or the columns of a bias.
Matrix part_of(const Matrix& whole, int64_t begin, int64_t count) {
  const bool bias = whole.vector;
  const int64_t width = bias ? 1 : whole.cols;
  const auto first = whole.values.begin() + begin * width;
  return {bias ? 1 : count, bias ? count : whole.cols, {first, first + count * width}, bias};
}

std::string layer_name(int layer) { return fmt::format("decoder.layers.{}.", layer); }

void read_embeddings(WeightReader& reader, const Architecture& a, const std::string& embedding,
                     NamedMatrices& weights) {
  const Matrix& table = weights["decoder.embed_tokens.weight"] = reader.take(embedding, -1, a.d_model);
  if (a.tied_embeddings == TiedEmbeddings::none) {
    weights["output_projection.weight"] = reader.take("lm_head.weight", table.rows, a.d_model);
  } else {
    reader.take_copy("lm_head.weight", table, embedding);
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
    for (const LayerWeight& weight : gpt2_layer(a))
      weights[ours + weight.ours] = take_weight(reader, theirs + weight.theirs, weight, a);
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
      weights[ours + weight.ours] = take_weight(reader, theirs + weight.theirs, weight, a);
    reader.skip(theirs + "self_attn.rotary_emb.inv_freq");
    if (attention_bias) continue;
    for (const char* part : {"q", "k", "v", "out"}) {
      const std::string name = fmt::format("{}self_attn.{}_proj.", ours, part);
      weights[name + "bias"] = zeros(weights.at(name + "weight").rows);
    }
  }
  return weights;
}

/// A tokenizer, and the token that transformers puts before each text; -1: none.
struct StartingTokenizer {
  std::shared_ptr<const Tokenizer> tokenizer;
  int start = -1;
};

/// Reads the tokenizer of a folder; `rows` is the number of tokens of the model. A tokenizer.json beside
/// tokenizer.model is a copy of it in another form, and says how texts begin.
StartingTokenizer read_tokenizer(const fs::path& folder, const SpecialIds& ids, int rows) {
  const fs::path json = folder / "tokenizer.json", sentence_piece = folder / "tokenizer.model";
  const bool has_json = fs::exists(json), has_model = fs::exists(sentence_piece);
  require(has_json || has_model, "{}: has no tokenizer; expected tokenizer.json or tokenizer.model",
          folder.string());
  const std::string text = has_json ? read_regular_file(json) : "{}";
  const nlohmann::json all = parse_json(text, json);
  require(all.is_object(), "{}: expected a JSON object", json.string());
  StartingTokenizer result;
  if (has_model) {
    std::string model = read_regular_file(sentence_piece);
    model = splits_by_lines(all) ? mark_imported(std::move(model), sentence_piece)
                                 : mark_whole_texts(std::move(model), sentence_piece);
    result.tokenizer = load_sentence_piece(std::move(model), sentence_piece, TextSide::exact);
    require(result.tokenizer->vocab_size() == rows, "{}: has {} tokens, but the model has {}",
            sentence_piece.string(), result.tokenizer->vocab_size(), rows);
  } else {
    const BytePairSettings settings{.bos = ids.bos, .eos = ids.eos, .size = rows};
    result.tokenizer = load_byte_pairs(add_settings(text, settings, json), json);
  }
  result.start =
      has_json ? start_of_post_processor(all, json) : start_of_sentence_piece(folder, *result.tokenizer);
  require(result.start < rows, "{}: post_processor puts the id {} before a text, but the model has {} tokens",
          json.string(), result.start, rows);
  for (const char* key : {"truncation", "padding"})
    if (all.contains(key) && !all[key].is_null())
      log_warning("{}: {} has no effect; texts are read as they are", json.string(), key);
  return result;
}

/// The number of tokens of a model, which config.json and the embedding must agree on.
int tokens_of(const JsonKeys& keys, const Matrix& embedding) {
  const auto rows = static_cast<int>(embedding.rows);
  const int tokens = keys.positive("vocab_size", rows);
  require(tokens == rows, "{}: vocab_size is {}, but the embedding has {} rows; correct vocab_size",
          keys.path(), tokens, rows);
  return rows;
}

/// Sets what the config says about the tokens of a text.
void set_tokens(ModelConfig& config, const Tokenizers& tokenizers, const SpecialIds& ids, int start) {
  bind_tokenizers(config, tokenizers);
  config.eos = ids.eos;
  config.bos = -1;  // transformers does not suppress it
  config.generation.start_before_text = start >= 0;
  // Without a start token, what follows an end token is the beginning of a text.
  config.decoder_start_token = start >= 0 ? start : ids.bos >= 0 ? ids.bos : ids.eos;
  config.task = LanguageModelSettings::task;
  config.settings = write_options(LanguageModelSettings{TextUnit::file});
}

}  // namespace

bool is_causal_model_type(std::string_view type) {
  return type == "gpt2" || type == "llama" || type == "mistral";
}

void import_causal_model(const fs::path& folder, const JsonKeys& keys, const std::string& output) {
  const CausalConfig theirs = causal_config_of(keys);
  ModelConfig config;
  static_cast<Architecture&>(config) = theirs.architecture;
  config.context_tokens = theirs.context_tokens;
  const TensorMap tensors = read_tensors(folder);
  WeightReader reader(tensors);
  const NamedMatrices weights =
      theirs.gpt2 ? read_gpt2(reader, config) : read_llama(reader, config, theirs.attention_bias);
  reader.require_all_taken();

  const int rows = tokens_of(keys, weights.at("decoder.embed_tokens.weight"));
  const SpecialIds ids = read_special_ids(folder, theirs.usual, rows);
  const StartingTokenizer read = read_tokenizer(folder, ids, rows);
  const Tokenizers tokenizers{read.tokenizer, read.tokenizer, true};
  config.generation = read_text_generation_config(folder, {.eos = ids.eos, .target_tokens = rows});
  set_tokens(config, tokenizers, ids, read.start);
  write_model_folder(output, *build_model(config, weights), tokenizers, [](const std::string& path) {
    write_provenance(path, {}, R"({"step": "import", "from": "hugging_face"})");
  });
}

}  // namespace sixfold
