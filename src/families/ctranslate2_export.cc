#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "families/ctranslate2.h"
#include "families/hugging_face.h"
#include "families/json/keys.h"
#include "families/marian_mt_weights.h"
#include "families/vocabulary.h"
#include "formats/ctranslate2_file.h"
#include "model/layers/positions.h"
#include "tasks/translation/settings.h"
#include "text/sentence_piece.h"

namespace sixfold::ct2 {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t transformer_revision = 7;
constexpr int positions_written = 2048;  // rows of the tables that its converters write

/// Throws an input error if CTranslate2's Transformer does not support the model.
void check(const ExportSource& source) {
  const ModelConfig& c = source.model.config();
  need_usual_network(source, transformer_spec, {"decoder_heads", "decoder_d_ff"});
  plain_settings(source, transformer_spec);
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, transformer_spec, difference);
  };
  const bool pre_norm = has_step(c.preprocess, ProcessStep::norm),
             post_norm = has_step(c.postprocess, ProcessStep::norm);
  need(pre_norm != post_norm && has_step(c.postprocess, ProcessStep::add),
       "its norms are neither before all sub-layers nor after");
  need(c.postprocess_top.empty() || c.postprocess_top == std::vector{ProcessStep::norm},
       "the top of its stacks adds their input");
  need_added_positions(source, transformer_spec);
  need(c.norm == Norm::layer, fmt::format("its norm is '{}'", name_of_enum(c.norm)));
  need(!c.feed_forward_gate && c.feed_forward_bias, "its feed-forward layers have a gate or no biases");
  need(std::ranges::count(activations, c.activation, [](const auto& known) { return known.second; }) > 0,
       fmt::format("its activation is '{}'", name_of_enum(c.activation)));
  need_even_heads(source, transformer_spec);
  need(source.tokenizers.source->kind() == TokenizerKind::sentencepiece &&
           source.tokenizers.target->kind() == TokenizerKind::sentencepiece,
       "its tokenizer is not SentencePiece");
  for (const Tokenizer* tokenizer : {source.tokenizers.source.get(), source.tokenizers.target.get()})
    need(
        tokenizer->token_text(tokenizer->eos()) == "</s>" && tokenizer->token_text(tokenizer->unk()) == "<unk>",
        "its end token is not </s>, or its unknown token not <unk>");
}

/// The table of positions to write. Positions that are not learned get `positions_written` rows.
Matrix table_of(const Transformer& model) {
  const ModelConfig& c = model.config();
  if (c.positions == Positions::learned) {
    std::vector<float> values = values_of(model, "embed_positions.weight");
    return {std::ssize(values) / c.d_model, c.d_model, std::move(values), false};
  }
  Matrix table{positions_written, c.d_model,
               std::vector<float>(static_cast<size_t>(positions_written) * static_cast<size_t>(c.d_model)),
               false};
  for (int64_t p = 0; p < table.rows && c.positions != Positions::none; ++p)
    for (int64_t i = 0; i < table.cols; ++i)
      table.at(p, i) = static_cast<float>(sinusoidal_position(p, i, c.d_model, c.positions));
  return table;
}

/// The config of the model in CTranslate2.
ModelConfig config_of(const ModelConfig& own, const Matrix& table) {
  ModelConfig c = own;
  c.positions = formula_of(table).value_or(Positions::learned);
  if (c.positions == Positions::learned) {
    c.max_positions = static_cast<int>(table.rows);
    c.beyond_positions = BeyondPositions::error;
  }
  const bool norm = has_step(own.postprocess_embedding, ProcessStep::norm);
  const Architecture defaults;
  c.postprocess_embedding =
      norm ? std::vector{ProcessStep::norm, ProcessStep::dropout} : defaults.postprocess_embedding;
  c.preprocess =
      has_step(own.preprocess, ProcessStep::norm) ? std::vector{ProcessStep::norm} : defaults.preprocess;
  c.postprocess =
      c.preprocess.empty() ? defaults.postprocess : std::vector{ProcessStep::dropout, ProcessStep::add};
  c.dropout = defaults.dropout, c.attention_dropout = c.activation_dropout = 0;
  c.bos = -1;
  c.settings = write_options(TranslationSettings());
  c.generation = generation();
  return c;
}

/// `alignment_layer`: the decoder layer whose attention aligns words, with all of its heads as in Sixfold.
std::vector<Ctranslate2Variable> settings_of_stacks(const ModelConfig& c, int alignment_layer) {
  const auto activation =
      std::ranges::find(activations, c.activation, [](const auto& known) { return known.second; });
  std::vector<Ctranslate2Variable> variables;
  const auto add = [&](const std::string& name, int value, int bytes = 1) {
    variables.push_back({.name = name, .integer = value, .bytes = bytes});
  };
  for (const std::string stack : {"encoder/", "decoder/"}) {
    add(stack + "num_heads", stack == "decoder/" ? c.of_decoder().heads : c.heads, 2);
    add(stack + "pre_norm", !c.preprocess.empty());
    add(stack + "activation", activation->first);
    add(stack + "scale_embeddings", c.embedding_scale);
  }
  add("encoder/embeddings_merge", 0);
  add("decoder/start_from_zero_embedding", c.decoder_start_token == Architecture::zero_start);
  add("decoder/alignment_layer", alignment_layer, 2);
  add("decoder/alignment_heads", c.of_decoder().heads, 2);
  return variables;
}

std::map<std::string, std::string> aliases_of(const ModelConfig& c) {
  std::map<std::string, std::string> aliases{{encoder_positions, decoder_positions}};
  if (c.shares_embedding()) aliases[source_embedding] = target_embedding;
  if (c.shares_output()) aliases[projection] = target_embedding;
  return aliases;
}

void write_files(const ExportSource& source, const fs::path& folder, const Exported& exported) {
  const ModelConfig& c = exported.config;
  const auto token = [&](int id) {
    return id < 0 ? std::string("<s>") : exported.target_pieces[static_cast<size_t>(id)];
  };
  write_json(folder / "config.json", {{"add_source_bos", false},
                                      {"add_source_eos", true},
                                      {"bos_token", "<s>"},
                                      {"decoder_start_token", token(c.decoder_start_token)},
                                      {"eos_token", token(c.eos)},
                                      {"layer_norm_epsilon", shortest_decimal(c.norm_epsilon)},
                                      {"multi_query_attention", false},
                                      {"unk_token", token(c.unk)}});
  const bool shared = exported.source_pieces == exported.target_pieces;
  write_json(folder / (shared ? "shared_vocabulary.json" : "target_vocabulary.json"), exported.target_pieces);
  if (!shared) write_json(folder / "source_vocabulary.json", exported.source_pieces);
  write_file_atomically(folder / "source.spm",
                        plain_model(source.tokenizers.source->serialized(), TextSide::source));
  write_file_atomically(folder / "target.spm",
                        plain_model(source.tokenizers.target->serialized(), TextSide::target));
}

}  // namespace

NameRules name_rules(bool positions) {
  const std::string theirs = "*/layer_*/", ours = "*.layers.*.";
  NameRules rules{
      {projection, {"output_projection.weight"}},
      {"decoder/projection/bias", {"output_projection.bias"}},
      {target_embedding, {"shared.weight"}},
      {target_embedding, {"decoder.embed_tokens.weight"}},
      {source_embedding, {"encoder.embed_tokens.weight"}},
      {source_embedding, {"shared.weight"}, {}, Holds::copy},
      {projection, {"shared.weight"}, {}, Holds::copy},
      {projection, {"decoder.embed_tokens.weight"}, {}, Holds::copy},
      {"decoder/alignment_heads", {}, {}, Holds::nothing},
  };
  for (const char* table : {decoder_positions, encoder_positions})
    if (!positions)
      rules.push_back({table, {}, {}, Holds::nothing});
    else if (table == decoder_positions)
      rules.push_back({table, {"embed_positions.weight"}});
    else
      rules.push_back({table, {"embed_positions.weight"}, {}, Holds::copy});
  for (const std::string part : {"weight", "bias"}) {
    const auto linear = [&](const std::string& name, std::vector<std::string> weights) {
      for (std::string& weight : weights) weight = fmt::format("{}{}.{}", ours, weight, part);
      rules.push_back({fmt::format("{}{}/{}", theirs, name, part), std::move(weights)});
    };
    linear("self_attention/linear_0", {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"});
    linear("self_attention/linear_1", {"self_attn.out_proj"});
    linear("attention/linear_0", {"encoder_attn.q_proj"});
    linear("attention/linear_1", {"encoder_attn.k_proj", "encoder_attn.v_proj"});
    linear("attention/linear_2", {"encoder_attn.out_proj"});
    linear("ffn/linear_0", {"fc1"});
    linear("ffn/linear_1", {"fc2"});
    const auto norm = [&](const std::string& name, const std::string& weight) {
      rules.push_back({fmt::format("{}/{}", name, part == "weight" ? "gamma" : "beta"),
                       {fmt::format("{}.{}", weight, part)}});
    };
    norm(theirs + "self_attention/layer_norm", ours + "self_attn_layer_norm");
    norm(theirs + "attention/layer_norm", ours + "encoder_attn_layer_norm");
    norm(theirs + "ffn/layer_norm", ours + "final_layer_norm");
    norm("*/layernorm_embedding", "*.layernorm_embedding");
    norm("*/layer_norm", "*.layer_norm");
  }
  return rules;
}

GenerationConfig generation() {
  GenerationConfig rules;
  rules.beam_size = 2;
  rules.normalization = ScoreNormalization::length;
  rules.length_penalty = 1;
  rules.stopping_criterion = StoppingCriterion::beam_finished;
  rules.length_factor = 0;
  rules.length_offset = 256;
  rules.min_new_tokens = 1;
  rules.at_longest = AtLongest::cut;
  rules.allow_unk = true;
  rules.renormalize_logits = true;  // tokens are suppressed before the softmax
  return rules;
}

Exported write_folder(const ExportSource& source, const std::string& output) {
  check(source);
  const auto table = std::make_shared<const Matrix>(table_of(source.model));
  Exported exported;
  exported.config = config_of(source.model.config(), *table);
  exported.source_pieces = pieces_of(*source.tokenizers.source);
  exported.target_pieces = pieces_of(*source.tokenizers.target);
  const Transformer& model = source.model;
  exported.values = [&model, table](const Parameter& weight) {
    return weight.name == "embed_positions.weight" ? table->values : values_of(model, weight.name);
  };
  const bool learned = exported.config.positions == Positions::learned;
  NameRules rules = name_rules(learned);
  if (!learned)
    for (NameRule& rule : rules)
      if (rule.theirs == decoder_positions) rule.computed = [table] { return *table; };
  std::vector<Ctranslate2Variable> variables =
      settings_of_stacks(exported.config, model.config().alignment_layer());
  for (const TheirTensor& tensor : their_tensors(rules, exported.config, exported.values))
    variables.push_back({tensor.name, tensor.shape, [value = tensor.value] { return value().values; }});
  const fs::path folder(output);
  write_ctranslate2(folder / "model.bin", std::string(transformer_spec), transformer_revision,
                    std::move(variables), aliases_of(exported.config));
  write_files(source, folder, exported);
  return exported;
}

}  // namespace sixfold::ct2
