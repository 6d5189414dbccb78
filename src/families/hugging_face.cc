#include "families/hugging_face.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/language_code.h"
#include "families/causal.h"
#include "families/folder.h"
#include "families/generation_config.h"
#include "families/json/keys.h"
#include "families/vocabulary.h"
#include "families/weights.h"
#include "model/layers/positions.h"
#include "model_folder/binding.h"
#include "model_folder/ownership.h"
#include "model_folder/provenance.h"
#include "tasks/translation/alignment_layer.h"
#include "tasks/translation/settings.h"
#include "text/sentence_piece.h"

// The meaning of keys and tensors is defined in transformers' configuration_marian.py and modeling_marian.py.

namespace sixfold {
namespace {

namespace fs = std::filesystem;

Activation activation_of(const JsonKeys& config) {
  const std::string name = config.get<std::string>("activation_function", "gelu");
  if (name == "relu") return Activation::relu;
  if (name == "swish" || name == "silu") return Activation::swish;
  if (name == "quick_gelu") return Activation::sigmoid_gelu;
  require(name == "gelu",
          "{}: activation_function is {}; only relu, swish, silu, gelu and quick_gelu are supported",
          config.path(), name);
  return Activation::gelu;
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
  a.heads = config.size("encoder_attention_heads");
  a.d_ff = config.size("encoder_ffn_dim");
  a.encoder_layers = config.size("encoder_layers");
  a.decoder_layers = config.size("decoder_layers");
  config.require_is<int64_t>("decoder_attention_heads", a.heads, a.heads);
  config.require_is<int64_t>("decoder_ffn_dim", a.d_ff, a.d_ff);
  a.tied_embeddings = tied_of(config);
  a.activation = activation_of(config);
  a.embedding_scale = config.get("scale_embedding", false);
  a.output_bias = true;
  a.dropout = config.get("dropout", 0.1f);
  a.attention_dropout = config.get("attention_dropout", 0.0f);
  a.activation_dropout = config.get("activation_dropout", 0.0f);
  return a;
}

bool holds_positions(const Matrix& table, Positions kind) {
  for (int64_t p = 0; p < table.rows; ++p)
    for (int64_t i = 0; i < table.cols; ++i)
      if (!(std::abs(table.at(p, i) - sinusoidal_position(p, i, table.cols, kind)) < 1e-2)) return false;
  return true;
}

/// Imports position encodings: sinusoidal ones, unless the model has tables of them.
void read_positions(WeightReader& reader, Architecture& a, NamedMatrices& weights) {
  const std::string encoder = "model.encoder.embed_positions.weight",
                    decoder = "model.decoder.embed_positions.weight";
  std::vector<Matrix> tables;
  for (const std::string& name : {encoder, decoder})
    if (reader.has(name)) tables.push_back(reader.take(name, -1, a.d_model));
  for (const Positions kind : {Positions::sinusoidal_halves, Positions::sinusoidal_marian}) {
    a.positions = kind;
    if (std::all_of(tables.begin(), tables.end(),
                    [&](const Matrix& table) { return holds_positions(table, kind); }))
      return;
  }
  require(tables.size() == 2 && tables[0].values == tables[1].values,
          "tensors '{}' and '{}' differ; only sinusoidal positions or one table for encoder and decoder are "
          "supported",
          encoder, decoder);
  a.positions = Positions::learned;
  a.max_positions = static_cast<int>(tables[0].rows);
  weights["embed_positions.weight"] = std::move(tables[0]);
}

NamedMatrices read_embeddings(WeightReader& reader, const Architecture& a) {
  NamedMatrices weights;
  if (a.shares_embedding()) {
    const std::string name = "model.shared.weight";
    const Matrix& shared = weights["shared.weight"] = reader.take(name, -1, a.d_model);
    for (const char* side : {"encoder", "decoder"})
      reader.take_copy(fmt::format("model.{}.embed_tokens.weight", side), shared, name);
  } else {
    for (const char* side : {"encoder", "decoder"}) {
      const std::string name = fmt::format("{}.embed_tokens.weight", side);
      weights[name] = reader.take("model." + name, -1, a.d_model);
    }
  }
  const std::string tied = a.shares_embedding() ? "shared.weight" : "decoder.embed_tokens.weight";
  if (a.shares_output())
    reader.take_copy("lm_head.weight", weights[tied], "model." + tied);
  else
    weights["output_projection.weight"] = reader.take("lm_head.weight", -1, a.d_model);
  weights["output_projection.bias"] = reader.take("final_logits_bias", 1, -1);
  return weights;
}

NamedMatrices read_weights(const TensorMap& tensors, Architecture& a) {
  WeightReader reader(tensors);
  NamedMatrices weights = read_embeddings(reader, a);
  const std::string prefix = "model.";
  read_positions(reader, a, weights);
  for (const std::string& name : tensors.names())
    if (name.starts_with("model.encoder.layers.") || name.starts_with("model.decoder.layers."))
      weights[name.substr(prefix.size())] = reader.take(name);
  reader.require_all_taken();
  return weights;
}

std::shared_ptr<const Tokenizer> read_tokenizer(const fs::path& sentence_piece, const fs::path& vocabulary,
                                                int64_t rows, TextSide side) {
  const std::vector<std::string> pieces = parse_vocabulary(read_regular_file(vocabulary), vocabulary);
  const std::string bytes =
      add_vocabulary(read_regular_file(sentence_piece), fitted(pieces, rows), sentence_piece);
  return load_sentence_piece(bytes, sentence_piece, side);
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

}  // namespace

void import_hugging_face(const std::string& folder_name, const std::string& output) {
  require_new_or_model(output, {folder_name});
  const fs::path folder(folder_name);
  require(fs::exists(folder),
          "{}: there is no folder of that name; models of the hub are downloaded first, for example with: hf "
          "download "
          "NAME --local-dir FOLDER",
          folder_name);
  require(fs::is_regular_file(folder / "config.json"),
          "{}: has no config.json; give the folder of a MarianMTModel, GPT2LMHeadModel or LlamaForCausalLM",
          folder_name);
  const JsonKeys keys(folder / "config.json");
  const auto type = keys.get<std::string>("model_type", "");
  if (is_causal_model_type(type)) return import_causal_model(folder, keys, output);
  require(type == "marian", "{}: model_type is '{}'; only marian, gpt2, llama and mistral are supported",
          keys.path(), type);
  ModelConfig config;
  static_cast<Architecture&>(config) = architecture_of(keys);
  require_encoder_and_decoder(config, keys.path());
  const TensorMap tensors = read_tensors(folder);
  const NamedMatrices weights = read_weights(tensors, config);

  const bool joint = weights.contains("shared.weight");
  const int64_t source_rows = weights.at(joint ? "shared.weight" : "encoder.embed_tokens.weight").rows,
                target_rows = weights.at(joint ? "shared.weight" : "decoder.embed_tokens.weight").rows;
  const fs::path source_vocabulary = folder / "vocab.json";
  const fs::path own = folder / "target_vocab.json",
                 target_vocabulary = fs::exists(own) ? own : source_vocabulary;
  const Tokenizers tokenizers = make_tokenizer_pair(
      read_tokenizer(folder / "source.spm", source_vocabulary, source_rows, TextSide::source),
      read_tokenizer(folder / "target.spm", target_vocabulary, target_rows, TextSide::target));
  bind_tokenizers(config, tokenizers);
  config.task = TranslationSettings::task;
  config.settings = write_options(read_languages(folder));
  config.bos = -1;  // targets begin with decoder_start_token_id, and only bad_words_ids are suppressed
  const ImportedGeneration imported =
      read_generation_config(folder, {.eos = config.eos, .target_tokens = config.target_vocab});
  config.generation = imported.generation;
  config.decoder_start_token = imported.decoder_start_token;
  const auto model = build_model(config, weights);
  model->set_generation(with_alignment_layer(*model, tokenizers));
  write_model_folder(output, *model, tokenizers, [](const std::string& path) {
    write_provenance(path, {}, R"({"step": "import", "from": "hugging_face"})");
  });
}

}  // namespace sixfold
