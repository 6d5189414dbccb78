#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "formats/safetensors.h"
#include "interop/hugging_face.h"
#include "interop/weights.h"
#include "model/model_dir.h"
#include "model/ownership.h"
#include "text/sentence_piece.h"
#include "translate/sealed.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* pad = "<pad>";

/// Whether the model's own vocabulary ends with the symbol that stands for an embedding of zeros there.
bool has_pad(const ModelConfig& config, const Tokenizers& tokenizers) {
  return tokenizers.target->piece(config.target_vocab - 1) == pad;
}

/// Throws where MarianMTModel has no counterpart.
void check_architecture(const ModelConfig& c, const Tokenizers& tokenizers, const std::string& folder) {
  const auto need = [&](bool condition, const std::string& difference) {
    require(condition, "{}: a MarianMTModel can't be this model: {}", folder, difference);
  };
  need(c.positions == Positions::sinusoidal || c.positions == Positions::sinusoidal_halves,
       fmt::format("its positions are {}, there they are sinusoidal", name_of_enum(c.positions)));
  need(c.preprocess.empty() && c.top_steps.empty() && !has_step(c.embedding_steps, Step::norm) &&
           c.postprocess == Architecture().postprocess,
       "its norms don't stand where the paper has them");
  need(c.norm_epsilon == 1e-5f, fmt::format("its norm_epsilon is {}, there it is 1e-05", c.norm_epsilon));
  need(c.key_width() == c.value_width() && c.heads * c.key_width() == c.d_model,
       "its heads have widths of their own; there they are d_model / heads");
  need(c.source_vocab == c.target_vocab,
       "its vocabularies differ in size; there one padding symbol has one id in both");
  need(c.search.decoder_start == SearchRules::zero_start ||
           (has_pad(c, tokenizers) && c.search.decoder_start == c.target_vocab - 1),
       fmt::format("its decoder begins with symbol {}; there it begins with an embedding of zeros",
                   c.search.decoder_start));
  need(tokenizers.source->kind() == TokenizerKind::sentencepiece &&
           tokenizers.target->kind() == TokenizerKind::sentencepiece,
       "its tokenizer is not SentencePiece");
}

/// d_model's features in the order of Hugging Face: of interleaved positions first the sines, then the cosines.
std::vector<int64_t> feature_order(const ModelConfig& c) {
  std::vector<int64_t> order;
  const int64_t step = c.positions == Positions::sinusoidal ? 2 : 1;
  for (int64_t first = 0; first < step; ++first)
    for (int64_t i = first; i < c.d_model; i += step) order.push_back(i);
  return order;
}

Matrix columns_in_order(const Matrix& matrix, const std::vector<int64_t>& order) {
  Matrix result = matrix;
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < matrix.cols; ++c) result.at(r, c) = matrix.at(r, order[static_cast<size_t>(c)]);
  return result;
}

Matrix rows_in_order(const Matrix& matrix, const std::vector<int64_t>& order) {
  return transposed(columns_in_order(transposed(matrix), order));
}

/// The weight with d_model's features in order: they are the rows of maps back to it, and the columns of all
/// else, but for what lies inside a head or a feed-forward layer.
Matrix in_order(const std::string& name, Matrix matrix, const std::vector<int64_t>& order) {
  const auto ends = [&](std::initializer_list<const char*> endings) {
    return std::any_of(endings.begin(), endings.end(),
                       [&](const char* ending) { return name.ends_with(ending); });
  };
  if (ends({"out_proj.weight", "fc2.weight"})) return rows_in_order(matrix, order);
  if (ends({"q_proj.bias", "k_proj.bias", "v_proj.bias", "fc1.bias", "output_projection.bias"})) return matrix;
  return columns_in_order(matrix, order);
}

std::string their_name(const std::string& name) {
  if (name == "output_projection.weight") return "lm_head.weight";
  if (name == "output_projection.bias") return "final_logits_bias";
  return "model." + name;
}

bool is_of_symbols(const std::string& name) {
  return name.ends_with("embed_tokens.weight") || name == "shared.weight" || name == "output_projection.weight";
}

NamedMatrices their_weights(const Transformer& model, bool add_pad) {
  const ModelConfig& config = model.config();
  const std::vector<int64_t> order = feature_order(config);
  NamedMatrices weights;
  for (const Parameter& parameter : model.parameters()) {
    Matrix matrix{parameter.tensor.rows(), parameter.tensor.cols(),
                  parameter.tensor.to_floats(*model.backend())};
    matrix = in_order(parameter.name, std::move(matrix), order);
    if (add_pad && is_of_symbols(parameter.name)) {
      ++matrix.rows;
      matrix.values.resize(matrix.values.size() + static_cast<size_t>(matrix.cols));
    }
    weights[their_name(parameter.name)] = std::move(matrix);
  }
  Matrix& bias = weights["final_logits_bias"];
  bias.rows = 1, bias.cols = config.target_vocab + (add_pad ? 1 : 0);
  bias.values.resize(static_cast<size_t>(bias.cols));
  return weights;
}

void write_weights(const fs::path& path, const NamedMatrices& weights) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, matrix] : weights) {
    const bool vector = matrix.rows == 1 && name != "final_logits_bias";
    tensors.push_back(
        {name, DType::f32,
         vector ? std::vector<int64_t>{matrix.cols} : std::vector<int64_t>{matrix.rows, matrix.cols},
         matrix.values.data()});
  }
  write_safetensors(path, tensors, {{"format", "pt"}});
}

std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::swish:
      return "swish";
    case Activation::gelu:
      return "gelu";
    case Activation::sigmoid_gelu:
      break;
  }
  return "quick_gelu";
}

ordered_json generation_json(const ModelConfig& c, int pad_id) {
  ordered_json json{{"decoder_start_token_id", pad_id}, {"eos_token_id", c.eos},
                    {"forced_eos_token_id", c.eos},     {"pad_token_id", pad_id},
                    {"num_beams", c.search.beam_size},  {"max_length", 512}};
  std::vector<std::vector<int>> banned{{pad_id}};
  if (c.bos >= 0 && c.bos != c.eos) banned.push_back({c.bos});
  for (const int id : c.search.banned_symbols)
    if (id != pad_id) banned.push_back({id});
  json["bad_words_ids"] = banned;
  json["length_penalty"] = c.search.normalization == ScoreNormalization::none ? 0.0 : c.search.alpha;
  return json;
}

ordered_json config_json(const ModelConfig& c, int symbols, int pad_id) {
  const TiedEmbeddings tied = c.tied_embeddings;
  ordered_json json{
      {"architectures", {"MarianMTModel"}},
      {"model_type", "marian"},
      {"is_encoder_decoder", true},
      {"vocab_size", symbols},
      {"decoder_vocab_size", symbols},
      {"d_model", c.d_model},
      {"encoder_layers", c.encoder_layers},
      {"decoder_layers", c.decoder_layers},
      {"encoder_attention_heads", c.heads},
      {"decoder_attention_heads", c.heads},
      {"encoder_ffn_dim", c.d_ff},
      {"decoder_ffn_dim", c.d_ff},
      {"activation_function", activation_name(c.activation)},
      {"dropout", c.dropout},
      {"attention_dropout", c.attention_dropout},
      {"activation_dropout", c.activation_dropout},
      {"scale_embedding", c.embedding_scale},
      {"static_position_embeddings", true},
      {"normalize_before", false},
      {"normalize_embedding", false},
      {"add_final_layer_norm", false},
      {"add_bias_logits", false},
      {"max_position_embeddings", 1024},
      {"share_encoder_decoder_embeddings", tied == TiedEmbeddings::all || tied == TiedEmbeddings::source},
      {"tie_word_embeddings", tied == TiedEmbeddings::all || tied == TiedEmbeddings::decoder},
      {"torch_dtype", "float32"}};
  json["decoder_start_token_id"] = pad_id;
  json["pad_token_id"] = pad_id;
  json["eos_token_id"] = json["forced_eos_token_id"] = c.eos;
  return json;
}

ordered_json vocabulary_json(const Tokenizer& tokenizer, bool add_pad) {
  ordered_json vocabulary = ordered_json::object();
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) vocabulary[tokenizer.piece(id)] = id;
  if (add_pad) vocabulary[pad] = tokenizer.vocab_size();
  return vocabulary;
}

void write_json(const fs::path& path, const ordered_json& json) {
  write_file_atomically(path, json.dump(2) + "\n");
}

void write_tokenizers(const fs::path& folder, const Tokenizers& tokenizers, bool joint, bool add_pad) {
  write_file_atomically(folder / "source.spm", remove_vocabulary(tokenizers.source->serialized()));
  write_file_atomically(folder / "target.spm", remove_vocabulary(tokenizers.target->serialized()));
  write_json(folder / "vocab.json", vocabulary_json(*tokenizers.source, add_pad));
  if (!joint) write_json(folder / "target_vocab.json", vocabulary_json(*tokenizers.target, add_pad));
  write_json(folder / "tokenizer_config.json", {{"tokenizer_class", "MarianTokenizer"},
                                                {"unk_token", "<unk>"},
                                                {"eos_token", "</s>"},
                                                {"pad_token", pad},
                                                {"model_max_length", 512},
                                                {"separate_vocabs", !joint}});
}

}  // namespace

void export_hugging_face(const std::string& model_folder, const std::string& output) {
  require_new(output, {model_folder});
  const auto model = load_model(model_folder, make_reference_backend(), DType::f32, WeightType::fp32);
  const ModelConfig& config = model->config();
  const Tokenizers tokenizers = load_sealed_tokenizers(model_folder, config);
  check_architecture(config, tokenizers, model_folder);
  const bool add_pad = !has_pad(config, tokenizers);
  const int symbols = config.target_vocab + (add_pad ? 1 : 0), pad_id = symbols - 1;
  const bool joint =
      config.tied_embeddings == TiedEmbeddings::all || config.tied_embeddings == TiedEmbeddings::source;

  AtomicDirectory folder(output);
  const fs::path path(folder.path());
  write_json(path / "config.json", config_json(config, symbols, pad_id));
  write_json(path / "generation_config.json", generation_json(config, pad_id));
  write_weights(path / "model.safetensors", their_weights(*model, add_pad));
  write_tokenizers(path, tokenizers, joint, add_pad);
  folder.commit();
}

}  // namespace sixfold
