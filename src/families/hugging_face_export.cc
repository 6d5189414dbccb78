#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "families/causal.h"
#include "families/hugging_face.h"
#include "families/model_card.h"
#include "families/vocabulary.h"
#include "families/weights.h"
#include "formats/safetensors.h"
#include "model/layers/positions.h"
#include "model_folder/binding.h"
#include "model_folder/model_folder.h"
#include "model_folder/ownership.h"
#include "search/beam.h"
#include "tasks/translation/settings.h"
#include "text/sentence_piece.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* pad = "<pad>";
constexpr const char* positions_parameter = "embed_positions.weight";
constexpr int longest_source = 512;  // maximum of its tokenizer, including the end token
constexpr int usual_positions = 1024;
constexpr int most_positions = 1 << 14;

/// Properties of the exported model in addition to the config.
struct Exported {
  int tokens;  ///< size of the vocabulary, including the padding token
  int pad_id;  ///< id of the padding token, the last one
  int max_length;
  int positions;
};

/// The maximum number of tokens for `generate`, including the start token. A limit that depends on the length
/// of the source becomes that of the longest source, since `generate` has one limit for all.
int max_length(const GenerationConfig& rules) {
  return std::min(longest_output(rules, longest_source), most_positions - 1) + 1;
}

/// Whether the model's vocabulary already ends with the padding token, which MarianMTModel uses as start token.
bool has_pad(const ModelConfig& config, const Tokenizers& tokenizers) {
  return tokenizers.target->token_text(config.target_vocab - 1) == pad;
}

/// Throws an input error if MarianMTModel does not support the model.
void check_marian_architecture(const ModelConfig& c, const Tokenizers& tokenizers, const std::string& folder) {
  const auto need = [&](bool condition, const std::string& difference) {
    require(condition, "{}: can't be exported as a MarianMTModel: {}", folder, difference);
  };
  need(c.preprocess.empty() && c.postprocess_top.empty() &&
           !has_step(c.postprocess_embedding, ProcessStep::norm) && c.postprocess == Architecture().postprocess,
       "its norms are not placed as in the paper");
  need(is_sinusoidal(c.positions) || c.positions == Positions::learned || c.positions == Positions::none,
       fmt::format("its positions are '{}'", name_of_enum(c.positions)));
  need(c.encoder_mixer == MixerKind::attention && c.decoder_mixer == MixerKind::attention,
       fmt::format("its encoder_mixer is '{}' and its decoder_mixer '{}'", name_of_enum(c.encoder_mixer),
                   name_of_enum(c.decoder_mixer)));
  need(c.attention_score == AttentionScore::scaled_dot,
       fmt::format("its attention_score is '{}'", name_of_enum(c.attention_score)));
  need(c.key_value_heads() == c.heads,
       fmt::format("its {} heads of queries share {} of keys and values (kv_heads)", c.heads, c.kv_heads));
  need(c.norm == Norm::layer, "norm is not 'layer'");
  need(!c.feed_forward_gate && c.feed_forward_bias, "its feed-forward layers have a gate or no biases");
  need(c.activation != Activation::tanh_gelu && c.activation != Activation::sigmoid,
       fmt::format("its activation is '{}'", name_of_enum(c.activation)));
  need(c.key_width() == c.value_width() && c.heads * c.key_width() == c.d_model,
       "its d_k or d_v differs from d_model / heads");
  need(c.source_vocab == c.target_vocab,
       "its vocabularies differ in size, but MarianMTModel has one id for the padding token in both");
  need(c.decoder_start_token == ModelConfig::zero_start ||
           (has_pad(c, tokenizers) && c.decoder_start_token == c.target_vocab - 1),
       fmt::format(
           "its decoder begins with token {}, but that of MarianMTModel begins with an embedding of zeros",
           c.decoder_start_token));
  need(tokenizers.source->kind() == TokenizerKind::sentencepiece &&
           tokenizers.target->kind() == TokenizerKind::sentencepiece,
       "its tokenizer is not SentencePiece");
}

/// The order of the features of d_model in Hugging Face: for interleaved positions first the sines, then the
/// cosines.
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

/// Permutes the features of d_model in a weight. They are the rows of projections to d_model and the columns of
/// all other weights, except of biases inside attention and feed-forward layers.
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

/// The factor by which the states between sub-layers are scaled. If the epsilon of a norm grows by a factor and
/// its input by the square root of that factor, its output is unchanged. So MarianMTModel's norms, whose
/// epsilon is 1e-5, give the same results as those of this model.
double growth(const ModelConfig& c) { return c.norm_epsilon == 1e-5f ? 1 : std::sqrt(1e-5 / c.norm_epsilon); }

/// The factor of a weight that scales the states but not the logits: weights that produce states grow, weights
/// that read them shrink. The decoder's last norm shrinks too, since the output projection may be a tied
/// embedding.
double factor_of(const std::string& name, const ModelConfig& c) {
  const double factor = growth(c);
  const std::string_view parameter = std::string_view(name).substr(0, name.rfind('.'));
  const auto is = [&](const char* ending) { return parameter.ends_with(ending); };
  if (parameter == fmt::format("decoder.layers.{}.final_layer_norm", c.decoder_layers - 1)) return 1 / factor;
  if (is("q_proj") || is("k_proj") || is("v_proj") || is("fc1"))
    return name.ends_with(".weight") ? 1 / factor : 1;
  return name == "output_projection.bias" ? 1 : factor;
}

/// The table of positions to write, unless MarianMTModel computes the same positions itself.
std::optional<Matrix> positions_table(const Transformer& model, int rows) {
  const ModelConfig& c = model.config();
  const bool theirs = c.positions == Positions::sinusoidal || c.positions == Positions::sinusoidal_halves;
  if (theirs && growth(c) == 1) return std::nullopt;
  Matrix table{rows, c.d_model, std::vector<float>(static_cast<size_t>(rows) * static_cast<size_t>(c.d_model))};
  if (c.positions == Positions::none) return table;
  std::vector<float> learned;
  if (c.positions == Positions::learned)
    for (const Parameter& parameter : model.parameters())
      if (parameter.name == positions_parameter) learned = parameter.tensor.to_floats(*model.backend());
  const Positions kind = theirs ? Positions::sinusoidal_halves : c.positions;
  for (int64_t p = 0; p < rows; ++p)
    for (int64_t i = 0; i < c.d_model; ++i) {
      const double value =
          learned.empty()
              ? sinusoidal_position(p, i, c.d_model, kind)
              : learned[static_cast<size_t>(std::min<int64_t>(p, c.max_positions - 1) * c.d_model + i)];
      table.at(p, i) = static_cast<float>(value * growth(c));
    }
  return table;
}

NamedMatrices their_weights(const Transformer& model, bool add_pad, int positions) {
  const ModelConfig& config = model.config();
  const std::vector<int64_t> order = feature_order(config);
  NamedMatrices weights;
  for (const Parameter& parameter : model.parameters()) {
    if (parameter.name == positions_parameter) continue;
    Matrix matrix = in_order(parameter.name, matrix_of(parameter, model), order);
    const double factor = factor_of(parameter.name, config);
    for (float& value : matrix.values) value = static_cast<float>(value * factor);
    if (add_pad && is_of_symbols(parameter.name)) {
      ++matrix.rows;
      matrix.values.resize(matrix.values.size() + static_cast<size_t>(matrix.cols));
    }
    weights[their_name(parameter.name)] = std::move(matrix);
  }
  // Without tie_word_embeddings, transformers reads the embeddings of both sides and not what they share.
  if (config.tied_embeddings == TiedEmbeddings::source)
    for (const char* side : {"encoder", "decoder"})
      weights[fmt::format("model.{}.embed_tokens.weight", side)] = weights.at("model.shared.weight");
  if (const auto table = positions_table(model, positions))
    for (const char* side : {"encoder", "decoder"})
      weights[fmt::format("model.{}.embed_positions.weight", side)] = *table;
  Matrix& bias = weights["final_logits_bias"];
  bias.vector = false;
  bias.rows = 1, bias.cols = config.target_vocab + (add_pad ? 1 : 0);
  bias.values.resize(static_cast<size_t>(bias.cols));
  if (add_pad)
    bias.values.back() = -1e4f;  // it takes no probability from the tokens of this model; fp16 holds it
  return weights;
}

std::string_view marian_activation(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::swish:
      return "swish";
    case Activation::gelu:
      return "gelu";
    case Activation::sigmoid_gelu:
      return "quick_gelu";
    case Activation::tanh_gelu:
    case Activation::sigmoid:
      break;  // refused by check_marian_architecture
  }
  return {};
}

ordered_json early_stopping(StoppingCriterion end) {
  if (end == StoppingCriterion::best_cannot_improve) return "never";
  return end == StoppingCriterion::beam_finished;
}

/// The token that is forced at the maximum length, or null if the output is cut.
ordered_json forced_end(const ModelConfig& c) {
  return c.generation.at_longest == AtLongest::cut ? ordered_json() : ordered_json(c.eos);
}

ordered_json generation_json(const ModelConfig& c, const Exported& e) {
  const GenerationConfig& rules = c.generation;
  ordered_json json{{"decoder_start_token_id", e.pad_id},
                    {"eos_token_id", c.eos},
                    {"forced_eos_token_id", forced_end(c)},
                    {"pad_token_id", e.pad_id},
                    {"num_beams", rules.beam_size},
                    {"early_stopping", early_stopping(rules.stopping_criterion)},
                    {"max_length", e.max_length}};
  std::vector<std::vector<int>> banned{{e.pad_id}};
  for (const int id : tokens_never_generated(c, rules))
    if (id != e.pad_id) banned.push_back({id});
  json["bad_words_ids"] = banned;
  if (rules.min_new_tokens > 0) json["min_new_tokens"] = rules.min_new_tokens;
  if (rules.renormalize_logits) json["renormalize_logits"] = true;
  json["length_penalty"] =
      rules.normalization == ScoreNormalization::none ? 0.0 : as_written(rules.length_penalty);
  return json;
}

ordered_json config_json(const ModelConfig& c, const Exported& e) {
  ordered_json json{{"architectures", {"MarianMTModel"}},
                    {"model_type", "marian"},
                    {"is_encoder_decoder", true},
                    {"vocab_size", e.tokens},
                    {"decoder_vocab_size", e.tokens},
                    {"d_model", c.d_model},
                    {"encoder_layers", c.encoder_layers},
                    {"decoder_layers", c.decoder_layers},
                    {"encoder_attention_heads", c.heads},
                    {"decoder_attention_heads", c.heads},
                    {"encoder_ffn_dim", c.d_ff},
                    {"decoder_ffn_dim", c.d_ff},
                    {"activation_function", marian_activation(c.activation)},
                    {"dropout", as_written(c.dropout)},
                    {"attention_dropout", as_written(c.attention_dropout)},
                    {"activation_dropout", as_written(c.activation_dropout)},
                    {"scale_embedding", c.embedding_scale},
                    {"static_position_embeddings", true},
                    {"normalize_before", false},
                    {"normalize_embedding", false},
                    {"add_final_layer_norm", false},
                    {"add_bias_logits", false},
                    {"max_position_embeddings", e.positions},
                    {"share_encoder_decoder_embeddings", c.shares_embedding()},
                    {"tie_word_embeddings", c.shares_output()},
                    {"torch_dtype", "float32"}};
  json["decoder_start_token_id"] = json["pad_token_id"] = e.pad_id;
  json["eos_token_id"] = c.eos;
  json["forced_eos_token_id"] = forced_end(c);
  return json;
}

/// The pieces of the vocabulary, with the padding token as the last. Another piece of its name is renamed.
std::vector<std::string> pieces_of(const Tokenizer& tokenizer, int tokens) {
  std::vector<std::string> pieces;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) pieces.push_back(tokenizer.token_text(id));
  std::replace(pieces.begin(), pieces.begin() + std::min<ptrdiff_t>(tokens - 1, std::ssize(pieces)),
               std::string(pad), std::string("<own_pad>"));
  if (std::ssize(pieces) < tokens) pieces.emplace_back(pad);
  return pieces;
}

void write_tokenizers(const fs::path& folder, const ModelConfig& config, const Tokenizers& tokenizers,
                      int tokens) {
  const bool joint = config.shares_embedding();
  write_file_atomically(folder / "source.spm", plain_model(tokenizers.source->serialized(), TextSide::source));
  write_file_atomically(folder / "target.spm", plain_model(tokenizers.target->serialized(), TextSide::target));
  write_file_atomically(folder / "vocab.json", vocabulary_json(pieces_of(*tokenizers.source, tokens)));
  if (!joint)
    write_file_atomically(folder / "target_vocab.json", vocabulary_json(pieces_of(*tokenizers.target, tokens)));
  ordered_json settings = {{"tokenizer_class", "MarianTokenizer"},
                           {"unk_token", "<unk>"},
                           {"eos_token", "</s>"},
                           {"pad_token", pad},
                           {"model_max_length", longest_source},
                           {"separate_vocabs", !joint}};
  const auto languages = settings_of<TranslationSettings>(config);
  if (!languages.source_language.empty()) settings["source_lang"] = languages.source_language;
  if (!languages.target_language.empty()) settings["target_lang"] = languages.target_language;
  write_json(folder / "tokenizer_config.json", settings);
}

}  // namespace

void export_hugging_face(const std::string& model_folder, const std::string& output) {
  require_new(output, {model_folder});
  if (load_model_config(model_folder).task == "language_model")
    return export_causal_model(model_folder, output);
  const auto model =
      load_model(model_folder, make_backend({.device = "reference"}), DType::f32, WeightType::fp32);
  require_task(model->config(), TranslationSettings::task, model_folder);
  const ModelConfig& config = model->config();
  const Tokenizers tokenizers = load_bound_tokenizers(model_folder, config);
  check_marian_architecture(config, tokenizers, model_folder);
  const bool add_pad = !has_pad(config, tokenizers);
  const int tokens = config.target_vocab + (add_pad ? 1 : 0), longest = max_length(config.generation);
  const Exported exported{tokens, tokens - 1, longest, std::max(longest, usual_positions)};

  AtomicDirectory folder(output);
  const fs::path path(folder.path());
  write_json(path / "config.json", config_json(config, exported));
  write_json(path / "generation_config.json", generation_json(config, exported));
  write_weights(path / "model.safetensors", their_weights(*model, add_pad, exported.positions));
  write_tokenizers(path, config, tokenizers, tokens);
  write_file_atomically(path / "README.md", model_card(config, tokenizers, model_folder));
  folder.commit();
}

}  // namespace sixfold
