#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "families/causal.h"
#include "families/causal_names.h"
#include "families/json/sentence_piece_json.h"
#include "families/json/start_token.h"
#include "families/model_card.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "model_folder/ownership.h"
#include "text/byte_pairs.h"
#include "text/sentence_piece.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

bool is_gpt2(const ModelConfig& c) { return c.positions == Positions::learned; }

std::string_view class_of(const ModelConfig& c) { return is_gpt2(c) ? "GPT2LMHeadModel" : "LlamaForCausalLM"; }

std::string_view causal_activation(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::swish:
      return "silu";
    case Activation::gelu:
      return "gelu";
    case Activation::tanh_gelu:
      return "gelu_new";
    case Activation::sigmoid_gelu:
      return "quick_gelu";
    case Activation::sigmoid:
      break;  // refused by check_causal_architecture
  }
  return {};
}

/// Throws an input error if neither kind of model supports the architecture.
void check_causal_architecture(const ModelConfig& c, const Tokenizers& tokenizers, const std::string& folder) {
  require(c.positions == Positions::learned || c.positions == Positions::rotary,
          "{}: can't be exported: its positions are '{}'; GPT-2 has learned positions, Llama rotary ones",
          folder, name_of_enum(c.positions));
  const auto need = [&](bool condition, const std::string& difference) {
    require(condition, "{}: can't be exported as a {}: {}", folder, class_of(c), difference);
  };
  const bool gpt2 = is_gpt2(c);
  const Architecture paper;
  need(c.preprocess == std::vector{ProcessStep::norm} && c.postprocess_top == std::vector{ProcessStep::norm} &&
           !has_step(c.postprocess, ProcessStep::norm) && has_step(c.postprocess, ProcessStep::add) &&
           !has_step(c.postprocess_embedding, ProcessStep::norm),
       "its norms are not before the sub-layers, with one at the top");
  need(c.norm == (gpt2 ? Norm::layer : Norm::rms), fmt::format("its norm is '{}'", name_of_enum(c.norm)));
  need(c.decoder_mixer == MixerKind::attention && c.attention_score == paper.attention_score,
       "its decoder_mixer or attention_score is not the paper's");
  need(c.feed_forward_gate == !gpt2 && (c.feed_forward_bias || !gpt2),
       gpt2 ? "its feed-forward layers have a gate or no biases" : "its feed-forward layers have no gate");
  need(c.activation != Activation::sigmoid, "its activation is 'sigmoid'");
  need(c.d_model % c.heads == 0, "d_model is not divisible by the number of heads");
  need(c.key_width() == c.value_width() &&
           (!gpt2 || (c.key_value_heads() == c.heads && c.heads * c.key_width() == c.d_model)),
       "its heads have other widths or numbers");
  need(!c.embedding_scale, "it multiplies embeddings by sqrt(d_model) (embedding_scale)");
  need(!c.output_bias, "its output projection has a bias (output_bias)");
  need(c.decoder_start_token >= 0, "its texts begin with an embedding of zeros instead of a start token");
  const TokenizerKind kind = tokenizers.target->kind();
  need(kind == TokenizerKind::byte_pairs || kind == TokenizerKind::sentencepiece,
       fmt::format("its tokenizer is of the kind '{}'; byte_pairs and sentencepiece have a form there",
                   name_of_enum(kind)));
}

/// The rows of all matrices, or the columns of all vectors.
Matrix joined(const std::vector<Matrix>& parts) {
  Matrix all{parts[0].vector ? 1 : 0, parts[0].vector ? 0 : parts[0].cols, {}, parts[0].vector};
  for (const Matrix& part : parts) {
    (all.vector ? all.cols : all.rows) += part.vector ? part.cols : part.rows;
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
  }
  return all;
}

/// Adds the joint matrix of queries, keys and values of a layer of a GPT-2, and its bias.
void add_joint_attention(const NamedMatrices& ours, const std::string& layer, const std::string& theirs,
                         NamedMatrices& weights) {
  std::vector<Matrix> matrices, biases;
  for (const char* part : {"q", "k", "v"}) {
    const std::string name = fmt::format("{}self_attn.{}_proj.", layer, part);
    matrices.push_back(ours.at(name + "weight"));
    biases.push_back(ours.at(name + "bias"));
  }
  weights[theirs + "attn.c_attn.weight"] = transposed(joined(matrices));
  weights[theirs + "attn.c_attn.bias"] = joined(biases);
}

bool has_attention_bias(const NamedMatrices& ours) {
  for (const auto& [name, matrix] : ours)
    if (name.ends_with("_proj.bias"))
      for (const float value : matrix.values)
        if (value != 0) return true;
  return false;
}

/// The number of positions that the model was trained with. A table of learned positions may have more rows.
int positions_of(const ModelConfig& c) {
  return c.context_tokens > 0 ? std::min(c.context_tokens, c.max_positions) : c.max_positions;
}

Matrix first_rows(Matrix matrix, int64_t rows) {
  matrix.rows = rows;
  matrix.values.resize(static_cast<size_t>(rows * matrix.cols));
  return matrix;
}

NamedMatrices their_weights(const Transformer& model, bool& attention_bias) {
  const ModelConfig& c = model.config();
  NamedMatrices ours, weights;
  for (const Parameter& p : model.parameters()) ours[p.name] = matrix_of(p, model);
  const bool gpt2 = is_gpt2(c);
  attention_bias = has_attention_bias(ours);
  weights[gpt2 ? "transformer.wte.weight" : "model.embed_tokens.weight"] =
      ours.at("decoder.embed_tokens.weight");
  weights[gpt2 ? "transformer.ln_f.weight" : "model.norm.weight"] = ours.at("decoder.layer_norm.weight");
  if (gpt2) {
    weights["transformer.ln_f.bias"] = ours.at("decoder.layer_norm.bias");
    weights["transformer.wpe.weight"] = first_rows(ours.at("embed_positions.weight"), positions_of(c));
  }
  if (!c.shares_output()) weights["lm_head.weight"] = ours.at("output_projection.weight");
  for (int layer = 0; layer < c.decoder_layers; ++layer) {
    const std::string own = fmt::format("decoder.layers.{}.", layer),
                      theirs = fmt::format("{}.{}.", gpt2 ? "transformer.h" : "model.layers", layer);
    for (const LayerWeight& weight : gpt2 ? gpt2_layer(c) : llama_layer(c, attention_bias))
      weights[theirs + weight.theirs] = to_stored(ours.at(own + weight.ours), weight.stored, c);
    if (gpt2) add_joint_attention(ours, own, theirs, weights);
  }
  return weights;
}

ordered_json config_json(const ModelConfig& c, bool attention_bias) {
  const int context = c.context_tokens > 0 ? c.context_tokens : 2048;
  ordered_json json{{"architectures", {class_of(c)}}, {"vocab_size", c.target_vocab}};
  json["bos_token_id"] = c.decoder_start_token;
  json["eos_token_id"] = c.eos;
  json["tie_word_embeddings"] = c.shares_output();
  json["dtype"] = "float32";
  if (is_gpt2(c)) {
    json["model_type"] = "gpt2";
    json["n_embd"] = c.d_model;
    json["n_head"] = c.heads;
    json["n_inner"] = c.d_ff;
    json["n_layer"] = c.decoder_layers;
    json["n_positions"] = positions_of(c);
    json["activation_function"] = causal_activation(c.activation);
    json["layer_norm_epsilon"] = as_written(c.norm_epsilon);
    json["resid_pdrop"] = json["embd_pdrop"] = as_written(c.dropout);
    json["attn_pdrop"] = as_written(c.attention_dropout);
    return json;
  }
  json["model_type"] = "llama";
  json["hidden_size"] = c.d_model;
  json["num_attention_heads"] = c.heads;
  json["num_key_value_heads"] = c.key_value_heads();
  json["head_dim"] = c.key_width();
  json["intermediate_size"] = c.d_ff;
  json["num_hidden_layers"] = c.decoder_layers;
  json["max_position_embeddings"] = context;
  json["hidden_act"] = causal_activation(c.activation);
  json["rms_norm_eps"] = as_written(c.norm_epsilon);
  json["rope_theta"] = as_written(c.rotary_base);
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", as_written(c.rotary_base)}};
  json["attention_bias"] = attention_bias;
  json["mlp_bias"] = c.feed_forward_bias;
  json["attention_dropout"] = as_written(c.attention_dropout);
  return json;
}

/// The tokens that are never generated here are suppressed there.
ordered_json generation_json(const ModelConfig& c) {
  ordered_json json{{"bos_token_id", c.decoder_start_token}, {"eos_token_id", c.eos}};
  std::vector<int32_t> never = tokens_never_generated(c, c.generation);
  std::ranges::sort(never);
  never.erase(std::unique(never.begin(), never.end()), never.end());
  if (!never.empty()) json["suppress_tokens"] = never;
  if (c.generation.min_new_tokens > 0) json["min_new_tokens"] = c.generation.min_new_tokens;
  return json;
}

/// The tokenizer.json of a tokenizer whose texts begin as those of the model do. That of an imported tokenizer
/// is unchanged unless it begins texts otherwise.
std::string tokenizer_json(const Tokenizer& tokenizer, const ModelConfig& c, const std::string& origin) {
  const int start = c.generation.start_before_text ? c.decoder_start_token : -1;
  nlohmann::json json;
  if (tokenizer.kind() == TokenizerKind::byte_pairs) {
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

/// transformers reads tokenizer.json alone. tokenizer.model is for other programs, and for an import.
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
  write_file_atomically(folder / "tokenizer.json", tokenizer_json(tokenizer, c, origin));
  write_json(folder / "tokenizer_config.json", settings);
}

}  // namespace

void export_causal_model(const std::string& model_folder, const std::string& output) {
  require_new(output, {model_folder});
  const auto model =
      load_model(model_folder, make_backend({.device = "reference"}), DType::f32, WeightType::fp32);
  const ModelConfig& config = model->config();
  const Tokenizers tokenizers = load_bound_tokenizers(model_folder, config);
  check_causal_architecture(config, tokenizers, model_folder);
  bool attention_bias = false;
  const NamedMatrices weights = their_weights(*model, attention_bias);
  AtomicDirectory folder(output);
  const fs::path path(folder.path());
  write_json(path / "config.json", config_json(config, attention_bias));
  write_json(path / "generation_config.json", generation_json(config));
  write_weights(path / "model.safetensors", weights);
  write_tokenizer(path, *tokenizers.target, config, model_folder);
  write_file_atomically(path / "README.md", language_model_card(config, class_of(config), model_folder));
  folder.commit();
}

}  // namespace sixfold
