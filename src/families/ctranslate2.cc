#include "families/ctranslate2.h"

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

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

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
  require(tensors.find(ct2::decoder_positions) && tensors.find(ct2::encoder_positions),
          "{}: has no '{}'; models whose positions are not stored are not supported", tensors.origin(),
          tensors.find(ct2::decoder_positions) ? ct2::encoder_positions : ct2::decoder_positions);
  const Matrix table = matrix_of(tensors, ct2::decoder_positions);
  require(table.values == matrix_of(tensors, ct2::encoder_positions).values,
          "{}: tensors '{}' and '{}' differ; only one table for encoder and decoder is supported",
          tensors.origin(), ct2::encoder_positions, ct2::decoder_positions);
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
  const bool output = same(ct2::projection, ct2::target_embedding),
             source = same(ct2::source_embedding, ct2::target_embedding);
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
  a.d_model = static_cast<int>(size_in(tensors, ct2::target_embedding, 1));
  a.d_ff = static_cast<int>(size_in(tensors, "encoder/layer_0/ffn/linear_0/weight", 0));
  a.heads = settings.heads("encoder");
  set_decoder_sizes(a, settings.heads("decoder"),
                    static_cast<int>(size_in(tensors, "decoder/layer_0/ffn/linear_0/weight", 0)));
  const auto activation = std::ranges::find(ct2::activations, settings.both("activation", 0),
                                            [](const auto& known) { return known.first; });
  require(activation != std::end(ct2::activations), "{}: activation {} is not supported", file.path(),
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
  const NameRules rules = ct2::name_rules(config.positions == Positions::learned);
  Imported imported{.step = R"({"step": "import", "from": "ctranslate2"})", .origin = source.path};
  imported.tokenizers =
      ct2_tokenizers(source, static_cast<int>(size_in(file.tensors(), ct2::source_embedding, 0)),
                     static_cast<int>(size_in(file.tensors(), ct2::target_embedding, 0)));
  bind_tokenizers(config, imported.tokenizers);
  config.bos = -1;
  config.task = TranslationSettings::task;
  config.settings = write_options(TranslationSettings());
  config.decoder_start_token = ct2_start(file, keys, *imported.tokenizers.target);
  config.generation = ct2::generation();
  validate_described(config, source.path);
  imported.model = read_weights(file.tensors(), rules, config);
  return imported;
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
          .name = ct2::transformer_spec,
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
          .write = ct2::write_folder};
}

}  // namespace sixfold
