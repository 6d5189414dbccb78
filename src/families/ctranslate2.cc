#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "base/json.h"
#include "families/families.h"
#include "families/hugging_face.h"
#include "families/json/keys.h"
#include "families/marian_mt_weights.h"
#include "families/vocabulary.h"
#include "formats/ctranslate2_file.h"
#include "model/layers/positions.h"
#include "model_folder/binding.h"
#include "model_folder/require_model_folder.h"
#include "tasks/translation/settings.h"
#include "text/sentence_piece.h"

// Folders of CTranslate2. The names of variables are defined in its python/ctranslate2/specs, their meaning in
// src/layers.

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view transformer_spec = "TransformerSpec";
constexpr uint32_t transformer_revision = 7;
constexpr int ct2_positions = 2048;  // rows of the tables that its converters write
constexpr const char *encoder_positions = "encoder/position_encodings/encodings",
                     *decoder_positions = "decoder/position_encodings/encodings",
                     *source_embedding = "encoder/embeddings_0/weight",
                     *target_embedding = "decoder/embeddings/weight", *projection = "decoder/projection/weight";

/// The activations by their numbers there.
constexpr std::pair<int, Activation> ct2_activations[] = {
    {0, Activation::relu}, {1, Activation::tanh_gelu},    {2, Activation::swish},
    {3, Activation::gelu}, {4, Activation::sigmoid_gelu}, {6, Activation::sigmoid}};

/// A setting of a stack of which only one value is supported; other settings are read.
struct FixedNumber {
  std::string_view ending;
  std::optional<double> value;  ///< nothing: any value, since it does not change what is computed
};
constexpr FixedNumber ct2_fixed[] = {{"/alibi", 0},
                                     {"/multi_query_attention", 0},
                                     {"/embeddings_merge", 0},
                                     {"/alibi_use_positive_positions", {}},
                                     {"/scale_alibi", {}},
                                     {"/alignment_layer", {}},
                                     {"/alignment_heads", {}}};
constexpr std::string_view ct2_read[] = {"/activation", "/num_heads",        "/num_heads_kv",
                                         "/pre_norm",   "/scale_embeddings", "/start_from_zero_embedding"};

/// The rules for the names of tensors. Without `positions`, the table of positions is not read, since positions
/// are computed.
NameRules ctranslate2_rules(bool positions) {
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

/// Reads the settings of both stacks, which must be equal.
class Ct2Settings {
 public:
  explicit Ct2Settings(const Ctranslate2File& file) : file_(file) {}

  double number(const std::string& name, double default_value) const {
    const auto* found = file_.number(name);
    return found ? found->value : default_value;
  }
  /// The setting of both stacks.
  double both(const std::string& name, double default_value) const {
    const double encoder = number("encoder/" + name, default_value),
                 decoder = number("decoder/" + name, default_value);
    require(encoder == decoder, "{}: encoder/{} is {} and decoder/{} is {}; only equal ones are supported",
            file_.path(), name, encoder, name, decoder);
    return encoder;
  }
  /// Whether embeddings are scaled by sqrt(d_model). The setting is a boolean, or the factor itself.
  bool scales(int d_model) const {
    const double factor = both("scale_embeddings", 0), root = std::sqrt(d_model);
    const auto* setting = file_.number("encoder/scale_embeddings");
    if (!setting || factor == 0) return false;
    if (setting->is_integer) return true;
    require(factor == 1 || std::abs(factor - root) < 1e-3 * root,
            "{}: scale_embeddings is {}; only 1 and sqrt(d_model) are supported", file_.path(), factor);
    return factor != 1;
  }
  /// The number of heads of a stack.
  int heads(const std::string& stack) const {
    const double heads = number(stack + "/num_heads", 0), shared = number(stack + "/num_heads_kv", heads);
    require(
        heads >= 1 && heads <= 1024 && shared == heads,
        "{}: {}/num_heads is {} and num_heads_kv {}; only as many heads of keys as of queries are supported",
        file_.path(), stack, heads, shared);
    return static_cast<int>(heads);
  }
  /// Throws an input error for settings that are not supported or not known.
  void check() const {
    for (const std::string& name : file_.numbers()) {
      const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
      const auto fixed =
          std::ranges::find_if(ct2_fixed, [&](const FixedNumber& one) { return ends(one.ending); });
      const bool known = fixed != std::end(ct2_fixed) || std::ranges::any_of(ct2_read, ends);
      require(known && (fixed == std::end(ct2_fixed) || !fixed->value || number(name, 0) == *fixed->value),
              "{}: variable '{}' is {}, which is not supported", file_.path(), name, number(name, 0));
    }
  }
  int layers(const std::string& stack) const {
    int count = 0;
    while (file_.tensors().find(fmt::format("{}/layer_{}/ffn/linear_0/weight", stack, count))) ++count;
    return count;
  }

 private:
  const Ctranslate2File& file_;
};

int64_t size_in(const TensorMap& tensors, const char* name, size_t dimension) {
  const TensorInfo& tensor = tensors.at(name);
  require(tensor.shape.size() == 2 && tensor.shape[dimension] > 0 && tensor.shape[dimension] < (1 << 30),
          "{}: tensor '{}' has the shape [{}]; expected a matrix", tensors.origin(), name, join(tensor.shape));
  return tensor.shape[dimension];
}

/// Sets the kind of positions, which is recognized by the tables of positions. Throws an input error if they
/// are missing.
void set_ct2_positions(const TensorMap& tensors, Architecture& a) {
  require(tensors.find(decoder_positions) && tensors.find(encoder_positions),
          "{}: has no '{}'; models whose positions are not stored are not supported", tensors.origin(),
          tensors.find(decoder_positions) ? encoder_positions : decoder_positions);
  const Matrix table = matrix_of(tensors, decoder_positions);
  require(table.values == matrix_of(tensors, encoder_positions).values,
          "{}: tensors '{}' and '{}' differ; only one table for encoder and decoder is supported",
          tensors.origin(), encoder_positions, decoder_positions);
  const auto formula = formula_of(table);
  a.positions = formula.value_or(Positions::learned);
  if (formula) return;
  a.max_positions = static_cast<int>(table.rows);
  a.beyond_positions = BeyondPositions::error;
}

TiedEmbeddings ct2_ties(const Ctranslate2File& file) {
  const auto same = [&](const char* one, const char* other) {
    return file.target_of(one) == file.target_of(other);
  };
  const bool output = same(projection, target_embedding), source = same(source_embedding, target_embedding);
  if (source) return output ? TiedEmbeddings::all : TiedEmbeddings::source;
  return output ? TiedEmbeddings::decoder : TiedEmbeddings::none;
}

Architecture ct2_architecture(const Ctranslate2File& file, const JsonKeys& keys) {
  const Ct2Settings settings(file);
  const TensorMap& tensors = file.tensors();
  settings.check();
  keys.require_is("multi_query_attention", false, false);
  Architecture a;
  a.encoder_layers = settings.layers("encoder");
  a.decoder_layers = settings.layers("decoder");
  require_encoder_and_decoder(a, file.path());
  a.d_model = static_cast<int>(size_in(tensors, target_embedding, 1));
  a.d_ff = static_cast<int>(size_in(tensors, "encoder/layer_0/ffn/linear_0/weight", 0));
  a.heads = settings.heads("encoder");
  set_decoder_sizes(a, settings.heads("decoder"),
                    static_cast<int>(size_in(tensors, "decoder/layer_0/ffn/linear_0/weight", 0)));
  const auto activation = std::ranges::find(ct2_activations, settings.both("activation", 0),
                                            [](const auto& known) { return known.first; });
  require(activation != std::end(ct2_activations), "{}: activation {} is not supported", file.path(),
          settings.both("activation", 0));
  a.activation = activation->second;
  if (settings.both("pre_norm", 1) != 0) {
    a.preprocess = {ProcessStep::norm};
    a.postprocess = {ProcessStep::dropout, ProcessStep::add};
  }
  if (tensors.find("encoder/layer_norm/gamma")) a.postprocess_top = {ProcessStep::norm};
  if (tensors.find("encoder/layernorm_embedding/gamma"))
    a.postprocess_embedding = {ProcessStep::norm, ProcessStep::dropout};
  a.norm_epsilon = keys.get("layer_norm_epsilon", 1e-5f);
  a.embedding_scale = settings.scales(a.d_model);
  a.tied_embeddings = ct2_ties(file);
  a.output_bias = tensors.find("decoder/projection/bias") != nullptr;
  set_ct2_positions(tensors, a);
  return a;
}

/// A vocabulary: a list in JSON, or lines. Nothing if the folder has none of this name.
std::optional<std::vector<std::string>> ct2_vocabulary(const fs::path& folder, const std::string& name) {
  const fs::path list = folder / (name + ".json"), lines = folder / (name + ".txt");
  std::vector<std::string> tokens;
  if (fs::exists(list)) {
    const json all = parse_json(read_regular_file(list), list);
    require(all.is_array() && std::ranges::all_of(all, [](const json& one) { return one.is_string(); }),
            "{}: expected a list of tokens", list.string());
    return all.get<std::vector<std::string>>();
  }
  if (!fs::exists(lines)) return std::nullopt;
  std::string text = read_regular_file(lines);
  if (!text.empty() && text.back() != '\n') text += '\n';
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    tokens.push_back(text.substr(begin, end - begin));
  return tokens;
}

/// The SentencePiece models of source and target: those that the user names, or those that an export has
/// written into the folder.
std::pair<std::string, std::string> ct2_tokenizer_files(const ImportSource& source) {
  const fs::path folder(source.path);
  if (source.sentence_pieces.empty()) {
    require(fs::exists(folder / "source.spm") && fs::exists(folder / "target.spm"),
            "{}: has no tokenizer; give the SentencePiece models of source and target by --tokenizer",
            source.path);
    return {folder / "source.spm", folder / "target.spm"};
  }
  return {source.sentence_pieces.front(), source.sentence_pieces.back()};
}

Tokenizers ct2_tokenizers(const ImportSource& source, int source_rows, int target_rows) {
  const fs::path folder(source.path);
  const auto shared = ct2_vocabulary(folder, "shared_vocabulary");
  const auto vocabulary_of = [&](const char* side) {
    auto vocabulary = shared ? shared : ct2_vocabulary(folder, std::string(side) + "_vocabulary");
    require(vocabulary.has_value(), "{}: has neither shared_vocabulary nor {}_vocabulary, .json or .txt",
            source.path, side);
    return *vocabulary;
  };
  const auto [source_file, target_file] = ct2_tokenizer_files(source);
  const auto tokenizer = [&](const char* side, const std::string& path, int rows, TextSide text_side) {
    const std::vector<std::string> tokens = vocabulary_of(side);
    require(std::ssize(tokens) == rows, "{}: the {} vocabulary has {} tokens, but the embedding has {} rows",
            source.path, side, tokens.size(), rows);
    return load_sentence_piece(add_vocabulary(read_regular_file(path), tokens, path), path, text_side);
  };
  return make_tokenizer_pair(tokenizer("source", source_file, source_rows, TextSide::source),
                             tokenizer("target", target_file, target_rows, TextSide::target));
}

/// The settings of `translate_batch` without options, except the beam size.
GenerationConfig ct2_generation() {
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

/// The id of the first input of the decoder.
int ct2_start(const Ctranslate2File& file, const JsonKeys& keys, const Tokenizer& target) {
  if (Ct2Settings(file).number("decoder/start_from_zero_embedding", 0) != 0) return Architecture::zero_start;
  const std::string name = keys.get<std::string>("decoder_start_token", "<s>");
  for (int32_t id = 0; id < target.vocab_size(); ++id)
    if (target.token_text(id) == name) return id;
  throw_input_error("{}: decoder_start_token is '{}', which is not in the vocabulary", keys.path(), name);
}

Imported read_ctranslate2(const ImportSource& source) {
  const fs::path folder(source.path);
  const Ctranslate2File file = Ctranslate2File::open(folder / "model.bin");
  const fs::path config_file = folder / "config.json";
  const JsonKeys keys = JsonKeys::of_optional(config_file);
  keys.require_is("add_source_bos", false, false);
  keys.get("add_source_eos", true);  // if it is false, the user adds the end token, so there is one in any case
  for (const auto& [key, supported] : {std::pair("eos_token", "</s>"), std::pair("unk_token", "<unk>")})
    keys.require_is<std::string>(key, supported, supported);
  ModelConfig config;
  static_cast<Architecture&>(config) = ct2_architecture(file, keys);
  const NameRules rules = ctranslate2_rules(config.positions == Positions::learned);
  Imported imported{.step = R"({"step": "import", "from": "ctranslate2"})", .origin = source.path};
  imported.tokenizers = ct2_tokenizers(source, static_cast<int>(size_in(file.tensors(), source_embedding, 0)),
                                       static_cast<int>(size_in(file.tensors(), target_embedding, 0)));
  bind_tokenizers(config, imported.tokenizers);
  config.bos = -1;
  config.task = TranslationSettings::task;
  config.settings = write_options(TranslationSettings());
  config.decoder_start_token = ct2_start(file, keys, *imported.tokenizers.target);
  config.generation = ct2_generation();
  validate_described(config, source.path);
  imported.model = read_weights(file.tensors(), rules, config);
  return imported;
}

/// Throws an input error if CTranslate2's Transformer does not support the model.
void check_for_ctranslate2(const ExportSource& source) {
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
  need(std::ranges::count(ct2_activations, c.activation, [](const auto& known) { return known.second; }) > 0,
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

/// The table of positions to write. Positions that are not learned get `ct2_positions` rows.
Matrix ct2_table(const Transformer& model) {
  const ModelConfig& c = model.config();
  if (c.positions == Positions::learned) {
    std::vector<float> values = values_of(model, "embed_positions.weight");
    return {std::ssize(values) / c.d_model, c.d_model, std::move(values), false};
  }
  Matrix table{ct2_positions, c.d_model,
               std::vector<float>(static_cast<size_t>(ct2_positions) * static_cast<size_t>(c.d_model)), false};
  for (int64_t p = 0; p < table.rows && c.positions != Positions::none; ++p)
    for (int64_t i = 0; i < table.cols; ++i)
      table.at(p, i) = static_cast<float>(sinusoidal_position(p, i, c.d_model, c.positions));
  return table;
}

/// The config of the model in CTranslate2.
ModelConfig ct2_config(const ModelConfig& own, const Matrix& table) {
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
  c.generation = ct2_generation();
  return c;
}

/// `alignment_layer`: the decoder layer whose attention aligns words, with all of its heads as in Sixfold.
std::vector<Ctranslate2Variable> ct2_settings(const ModelConfig& c, int alignment_layer) {
  const auto activation =
      std::ranges::find(ct2_activations, c.activation, [](const auto& known) { return known.second; });
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

std::map<std::string, std::string> ct2_aliases(const ModelConfig& c) {
  std::map<std::string, std::string> aliases{{encoder_positions, decoder_positions}};
  if (c.shares_embedding()) aliases[source_embedding] = target_embedding;
  if (c.shares_output()) aliases[projection] = target_embedding;
  return aliases;
}

void write_ct2_files(const ExportSource& source, const fs::path& folder, const Exported& exported) {
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

Exported write_ctranslate2_folder(const ExportSource& source, const std::string& output) {
  check_for_ctranslate2(source);
  const auto table = std::make_shared<const Matrix>(ct2_table(source.model));
  Exported exported;
  exported.config = ct2_config(source.model.config(), *table);
  exported.source_pieces = pieces_of(*source.tokenizers.source);
  exported.target_pieces = pieces_of(*source.tokenizers.target);
  const Transformer& model = source.model;
  exported.values = [&model, table](const Parameter& weight) {
    return weight.name == "embed_positions.weight" ? table->values : values_of(model, weight.name);
  };
  const bool learned = exported.config.positions == Positions::learned;
  NameRules rules = ctranslate2_rules(learned);
  if (!learned)
    for (NameRule& rule : rules)
      if (rule.theirs == decoder_positions) rule.computed = [table] { return *table; };
  std::vector<Ctranslate2Variable> variables = ct2_settings(exported.config, model.config().alignment_layer());
  for (const TheirTensor& tensor : their_tensors(rules, exported.config, exported.values))
    variables.push_back({tensor.name, tensor.shape, [value = tensor.value] { return value().values; }});
  const fs::path folder(output);
  write_ctranslate2(folder / "model.bin", std::string(transformer_spec), transformer_revision,
                    std::move(variables), ct2_aliases(exported.config));
  write_ct2_files(source, folder, exported);
  return exported;
}

/// Whether a folder has the files of a CTranslate2 model.
bool is_ct2_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "model.bin", ignored) &&
         std::ranges::any_of(folder_entries(folder), [](const fs::path& entry) {
           return entry.stem().string().ends_with("vocabulary");
         });
}

void refuse_ct2(const ImportSource& source, const std::vector<const Family*>& families) {
  require(is_ct2_folder(source.path), "{}: is not a folder of CTranslate2, with model.bin and a vocabulary",
          source.path);
  std::vector<std::string> names;
  for (const Family* family : families) names.emplace_back(family->name);
  const Ctranslate2File file = Ctranslate2File::open(fs::path(source.path) / "model.bin");
  require(
      file.spec() != "WhisperSpec",
      "{}: is a model of speech (WhisperSpec) with {} weights, all of which can be read; but Sixfold does not "
      "compute what its encoder reads from sound",
      source.path, file.tensors().names().size());
  throw_input_error("{}: is a {}; only {} can be imported", source.path, file.spec(), join_words(names, "and"));
}

std::vector<std::string> ct2_inputs(const ImportSource& source) {
  require(source.sentence_pieces.size() <= 2,
          "{} tokenizers are given; give one, or those of source and target", source.sentence_pieces.size());
  std::vector<std::string> inputs{source.path};
  inputs.insert(inputs.end(), source.sentence_pieces.begin(), source.sentence_pieces.end());
  return inputs;
}

const Program ctranslate2 = {
    .name = "ctranslate2",
    .title = "CTranslate2",
    .inputs = ct2_inputs,
    .refuse = refuse_ct2,
    .advise =
        [](const std::string& path, const std::vector<const Family*>&) {
          return is_ct2_folder(path)
                     ? fmt::format(
                           "{} is a model of CTranslate2; convert it with: sixfold import ctranslate2 {} "
                           "--tokenizer SOURCE TARGET --output FOLDER",
                           path, path)
                     : std::string();
        },
};

}  // namespace

Family ctranslate2_family() {
  return {.program = &ctranslate2,
          .name = transformer_spec,
          .class_name = "Translator",
          .title = "Transformer",
          .recognizes =
              [](const ImportSource& source, const Family& family) {
                return is_ct2_folder(source.path) &&
                       Ctranslate2File::open(fs::path(source.path) / "model.bin").spec() == family.name;
              },
          .read = read_ctranslate2,
          .exports = "translation models",
          .takes = [](const ModelConfig& c) { return c.task == TranslationSettings::task; },
          .write = write_ctranslate2_folder};
}

}  // namespace sixfold
