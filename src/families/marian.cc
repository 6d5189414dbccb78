#include "families/marian.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "families/families.h"
#include "families/hugging_face.h"
#include "families/marian_shortlist.h"
#include "families/vocabulary.h"
#include "formats/marian_bin.h"
#include "formats/npz.h"
#include "model_folder/binding.h"
#include "model_folder/require_model_folder.h"
#include "tasks/translation/settings.h"
#include "text/sentence_piece.h"
#include "text/whitespace.h"

// In the names of Marian's tensors, layers are counted from 1. The weights of its linear layers are [in, out].
// Its options are stored as YAML in an array of bytes. (src/models/transformer.h, src/common/config_parser.cpp
// of Marian 1.12)

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr const char* options_tensor = "special:model.yml";

/// Reads Marian's options from a tree, with Marian's defaults.
class MarianOptions {
 public:
  MarianOptions(OptionNode root, std::string where) : root_(std::move(root)), where_(std::move(where)) {}

  template <class T>
  T get(const char* key, T default_value) {
    const OptionNode* node = root_.find(key);
    if (node && node->kind != OptionNode::Kind::null) read_value(OptionSource{*node, key, {}}, default_value);
    return default_value;
  }
  bool has(const char* key) { return root_.find(key) != nullptr; }

  /// Throws an input error unless the option has a supported value.
  template <class T>
  void require_is(const char* key, T supported) {
    const T found = get<T>(key, supported);
    require(found == supported, "{}: {} is {}; only {} is supported", where_, key, found, supported);
  }
  void require_empty(const char* key) {
    require(get<std::vector<std::string>>(key, {}).empty(), "{}: {} is set; such models are not supported",
            where_, key);
  }
  void require_same(const char* key, int default_value, int supported) {
    const int found = get<int>(key, default_value);
    require(found == default_value || found == supported, "{}: {} is {}; only {} is supported", where_, key,
            found, supported);
  }
  const std::string& where() const { return where_; }

 private:
  OptionNode root_;
  std::string where_;
};

MarianOptions embedded_options(const TensorMap& tensors) {
  const auto& bytes = tensors.at(options_tensor).bytes;
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.resize(std::min(text.find('\0'), text.size()));  // it is padded with zeros
  const std::string where = tensors.origin() + ": " + options_tensor;
  return {parse_yaml_options(text, where), where};
}

MixerKind decoder_mixer_of(MarianOptions& options) {
  const std::string mixer = options.get<std::string>("transformer-decoder-autoreg", "self-attention"),
                    cell = options.get<std::string>("dec-cell", "gru");
  require(mixer == "self-attention" || (mixer == "rnn" && cell == "ssru"),
          "{}: transformer-decoder-autoreg is {}{}; only self-attention, and rnn with the dec-cell ssru, are "
          "supported",
          options.where(), mixer, mixer == "rnn" ? " with the dec-cell " + cell : "");
  return mixer == "rnn" ? MixerKind::ssru : MixerKind::attention;
}

/// Throws an input error for options of an architecture that is not supported.
void check_supported(MarianOptions& options) {
  options.require_is<std::string>("type", "transformer");
  if (decoder_mixer_of(options) == MixerKind::ssru) options.require_is("layer-normalization", false);
  options.require_is<std::string>("transformer-attention-mask", "default");
  options.require_is("transformer-ffn-depth", 2);
  options.require_same("transformer-decoder-ffn-depth", 0, 2);
  for (const char* key : {"transformer-no-projection", "transformer-no-bias", "transformer-no-affine",
                          "transformer-pool", "transformer-rnn-projection", "right-left", "ulr"})
    options.require_is(key, false);
  options.require_is("factors-dim-emb", 0);
  options.require_is("lemma-dim-emb", 0);
  options.require_empty("transformer-tied-layers");
  options.require_empty("input-types");
}

/// Parses steps such as "dan".
std::vector<ProcessStep> steps_of(MarianOptions& options, const char* key, const char* default_value) {
  std::vector<ProcessStep> steps;
  for (const char letter : options.get<std::string>(key, default_value)) {
    require(letter == 'd' || letter == 'a' || letter == 'n',
            "{}: {} has '{}'; only d (dropout), a (add) and n (layer norm) are supported", options.where(), key,
            letter);
    steps.push_back(letter == 'd'   ? ProcessStep::dropout
                    : letter == 'a' ? ProcessStep::add
                                    : ProcessStep::norm);
  }
  return steps;
}

/// Whether Marian 1.12.0 ("v1.12.0 ...") or an earlier version wrote the model.
bool is_of_1_12_or_before(MarianOptions& options) {
  const std::string version = options.get<std::string>("version", "");
  const char* end = version.data() + version.size();
  int minor = 99, patch = 99;
  if (!version.starts_with("v1.")) return false;
  const char* rest = std::from_chars(version.data() + 3, end, minor).ptr;
  if (rest != end && *rest == '.') std::from_chars(rest + 1, end, patch);
  return minor < 12 || (minor == 12 && patch == 0);
}

Activation activation_of(MarianOptions& options) {
  const std::string name = options.get<std::string>("transformer-ffn-activation", "swish");
  if (name == "relu") return Activation::relu;
  if (name == "swish") return Activation::swish;
  require(name == "gelu", "{}: transformer-ffn-activation is {}; only relu, swish and gelu are supported",
          options.where(), name);
  return is_of_1_12_or_before(options) ? Activation::sigmoid_gelu
                                       : Activation::gelu;  // exact in later versions
}

TiedEmbeddings tied_of(MarianOptions& options) {
  const bool all = options.get("tied-embeddings-all", false),
             source = options.get("tied-embeddings-src", false),
             decoder = options.get("tied-embeddings", false);
  if (all || (source && decoder)) return TiedEmbeddings::all;
  if (source) return TiedEmbeddings::source;
  return decoder ? TiedEmbeddings::decoder : TiedEmbeddings::none;
}

/// Whether positions were trained is decided by the tensors, since some versions of Marian accept the option
/// without applying it.
Positions positions_of(MarianOptions& options, const TensorMap& tensors) {
  if (options.get("transformer-disable-position-embeddings", false)) return Positions::none;
  return tensors.find("Wpos") ? Positions::learned : Positions::sinusoidal_marian;
}

Architecture architecture_of(MarianOptions& options, const TensorMap& tensors) {
  check_supported(options);
  Architecture a;
  a.d_model = options.get("dim-emb", 512);
  a.heads = options.get("transformer-heads", 8);
  a.d_ff = options.get("transformer-dim-ffn", 2048);
  const int decoder_d_ff = options.get("transformer-decoder-dim-ffn", 0);
  set_decoder_sizes(a, a.heads, decoder_d_ff > 0 ? decoder_d_ff : a.d_ff);
  a.encoder_layers = options.get("enc-depth", 6);
  a.decoder_layers = options.get("dec-depth", 6);
  require_encoder_and_decoder(a, "enc-depth, dec-depth");
  a.decoder_mixer = decoder_mixer_of(options);
  a.tied_embeddings = tied_of(options);
  a.activation = activation_of(options);
  a.positions = positions_of(options, tensors);
  a.embedding_scale = a.positions == Positions::sinusoidal_marian;
  a.postprocess_embedding = steps_of(options, "transformer-postprocess-emb", "d");
  a.preprocess = steps_of(options, "transformer-preprocess", "");
  a.postprocess = steps_of(options, "transformer-postprocess", "dan");
  a.postprocess_top = steps_of(options, "transformer-postprocess-top", "");
  a.norm_epsilon = 1e-6f;
  a.output_bias = !options.get("output-omit-bias", false);
  return a;
}

/// Adds the rules of the norms around a sub-layer, whose tensors in Marian begin with these prefixes. If a
/// sub-layer has norms both before and after it, they have different names here.
void add_norms(NameRules& rules, const Architecture& a, const std::string& theirs_before,
               const std::string& theirs_after, const std::string& ours) {
  const bool before = has_step(a.preprocess, ProcessStep::norm),
             after = has_step(a.postprocess, ProcessStep::norm);
  for (const auto& [their_part, part] : {std::pair("_ln_scale", ".weight"), std::pair("_ln_bias", ".bias")}) {
    const std::string name_before = theirs_before + their_part + "_pre";
    rules.push_back({after ? theirs_after + their_part : name_before, {ours + part}});
    if (before && after) rules.push_back({name_before, {ours + "_before" + part}});
  }
}

/// Adds the rules of a linear layer, whose weight is [in, out] in Marian.
void add_linear(NameRules& rules, const std::string& weight, const std::string& bias, const std::string& ours) {
  rules.push_back({weight, {ours + ".weight"}, {Step::transpose}});
  rules.push_back({bias, {ours + ".bias"}});
}

/// `*` is first "encoder" or "decoder", then the number of the layer.
NameRules marian_rules(const Architecture& a, const TensorMap& tensors) {
  NameRules rules{
      {"Wemb", {"shared.weight"}},
      {"encoder_Wemb", {"encoder.embed_tokens.weight"}},
      {"decoder_Wemb", {"decoder.embed_tokens.weight"}},
      {"decoder_ff_logit_out_b", {"output_projection.bias"}},
      {"Wpos", {"embed_positions.weight"}},
      {options_tensor, {}, {}, Holds::nothing},
      {"*_QuantMultA", {}, {}, Holds::nothing},  // scales of the activations, for other programs
  };
  if (tensors.find("decoder_ff_logit_out_Wt"))
    rules.push_back({"decoder_ff_logit_out_Wt", {"output_projection.weight"}});
  else
    rules.push_back({"decoder_ff_logit_out_W", {"output_projection.weight"}, {Step::transpose}});
  if (a.decoder_mixer == MixerKind::ssru) {
    const std::string theirs = "decoder_l#_rnn", ours = "decoder.layers.*.";
    add_linear(rules, theirs + "_Wf", theirs + "_bf", ours + "ssru.forget");
    rules.push_back({theirs + "_W", {ours + "ssru.value.weight"}, {Step::transpose}});
    add_norms(rules, a, theirs, theirs + "_ffn", ours + "self_attn_layer_norm");
  }
  const std::string theirs = "*_l#_", ours = "*.layers.*.";
  for (const auto& [their_part, part] :
       {std::pair("self", "self_attn"), std::pair("context", "encoder_attn")}) {
    const std::string prefix = theirs + their_part + "_", name = ours + part;
    for (const auto& [letter, map] : {std::pair("q", ".q_proj"), std::pair("k", ".k_proj"),
                                      std::pair("v", ".v_proj"), std::pair("o", ".out_proj")})
      add_linear(rules, prefix + "W" + letter, prefix + "b" + letter, name + map);
    add_norms(rules, a, prefix + "Wo", prefix + "Wo", name + "_layer_norm");
  }
  add_linear(rules, theirs + "ffn_W1", theirs + "ffn_b1", ours + "fc1");
  add_linear(rules, theirs + "ffn_W2", theirs + "ffn_b2", ours + "fc2");
  add_norms(rules, a, theirs + "ffn_ffn", theirs + "ffn_ffn", ours + "final_layer_norm");
  for (const auto& [their_part, part] : {std::pair("_ln_scale", "weight"), std::pair("_ln_bias", "bias")}) {
    rules.push_back(
        {std::string("*_emb") + their_part + "_pre", {std::string("*.layernorm_embedding.") + part}});
    rules.push_back({std::string("*_top") + their_part, {std::string("*.layer_norm.") + part}});
  }
  return rules;
}

std::shared_ptr<const Tokenizer> marian_tokenizer(const std::string& vocab, const std::string& sentence_piece,
                                                  int64_t rows, TextSide side) {
  if (vocab.ends_with(".spm")) return load_sentence_piece(mark_imported(read_file(vocab), vocab), vocab, side);
  require(vocab.ends_with(".yml") || vocab.ends_with(".yaml") || vocab.ends_with(".json"),
          "{}: only vocabularies in .spm, .yml or .json are supported, not factored ones", vocab);
  const std::vector<std::string> pieces = resized_vocabulary(read_vocabulary(vocab), rows);
  if (!sentence_piece.empty())
    return load_sentence_piece(add_vocabulary(read_file(sentence_piece), pieces, sentence_piece),
                               sentence_piece, side);
  std::string lines;
  for (const std::string& piece : pieces) lines += piece + "\n";
  return load_whitespace(lines, vocab);
}

/// The layer that Marian's option names, which counts from 1.
int guided_layer(const std::string& layer, const ModelConfig& config, const std::string& where) {
  int number = 0;
  const char* end = layer.data() + layer.size();
  const auto [rest, error] = std::from_chars(layer.data(), end, number);
  require(error == std::errc() && rest == end && number >= 1 && number <= config.decoder_layers,
          "{}: transformer-guided-alignment-layer is {}; the decoder has layers 1 to {}", where, layer,
          config.decoder_layers);
  return number - 1;
}

GenerationConfig generation_config(const MarianFiles& files) {
  GenerationConfig rules;
  rules.beam_size = files.beam_size;
  rules.normalization = files.normalize == 0 ? ScoreNormalization::none : ScoreNormalization::length;
  rules.length_penalty = static_cast<float>(files.normalize);
  rules.stopping_criterion = StoppingCriterion::beam_finished;
  rules.finished_keeps_slot = true;
  rules.length_factor = static_cast<float>(files.max_length_factor);
  rules.length_offset = 0;
  rules.at_longest = AtLongest::cut;
  rules.allow_unk = files.allow_unk;
  return rules;
}

/// Whether a file has the name of a config that names a model.
bool is_marian_config(const fs::path& path) {
  return path.filename() == "decoder.yml" || path.filename() == "config.bergamot.yml";
}

/// Whether a file begins like a file in the binary format of Marian.
bool is_marian_bin(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  uint64_t version = 0;
  return path.extension() == ".bin" && file.read(reinterpret_cast<char*>(&version), sizeof version) &&
         version == 1;
}

bool is_yaml(const std::string& path) { return path.ends_with(".yml") || path.ends_with(".yaml"); }

MarianFiles files_of(const ImportSource& source) {
  MarianFiles files{.model = source.path, .vocabs = {}};
  if (is_yaml(source.path)) files = read_marian_decoder_config(source.path);
  if (!source.vocabularies.empty()) files.vocabs = source.vocabularies;
  if (!source.shortlist.empty()) files.shortlist = source.shortlist;
  files.sentence_pieces = source.sentence_pieces;
  return files;
}

std::string marian_advice(const std::string& path, const std::vector<const Family*>&) {
  const fs::path name(path);
  const std::string import = "sixfold import marian ";
  std::error_code ignored;
  if (fs::is_directory(name, ignored)) {
    for (const fs::path& entry : folder_entries(path))
      if (entry.extension() == ".npz" || is_marian_config(entry)) {
        std::string model = entry.string();
        for (const fs::path& config : folder_entries(path))
          if (is_marian_config(config)) model = config.string();
        return fmt::format("{} contains a model of Marian; convert it with: {}{} --output FOLDER", path, import,
                           model);
      }
    return {};
  }
  if (name.extension() == ".npz" || is_marian_bin(name))
    return fmt::format("{} is a model of Marian; convert it with: {}{} --vocabs SOURCE TARGET --output FOLDER",
                       path, import, path);
  if (is_yaml(path) && has_top_level_key(path, {"models"}))
    return fmt::format("{} is a decoder configuration of Marian; convert the model with: {}{} --output FOLDER",
                       path, import, path);
  return {};
}

const Program marian = {
    .name = "marian",
    .title = "Marian",
    .inputs = [](const ImportSource& source) { return inputs_of(files_of(source)); },
    .refuse = [](const ImportSource&, const std::vector<const Family*>&) {},
    .advise = marian_advice,
};

}  // namespace

MarianFiles read_marian_decoder_config(const std::string& path) {
  MarianOptions options(parse_yaml_options(read_file(path), path), path);
  const fs::path folder = options.get("relative-paths", false) ? fs::path(path).parent_path() : fs::path();
  const auto models = options.get<std::vector<std::string>>("models", {});
  require(models.size() == 1, "{}: names {} models; ensembles are not supported, only one model", path,
          models.size());
  options.require_is("word-penalty", 0.0);
  for (const char* key : {"force-decode", "right-left"}) options.require_is(key, false);
  for (const char* key : {"output-sampling", "weights"}) options.require_empty(key);
  MarianFiles files{.model = folder / models[0], .vocabs = {}};
  for (const std::string& vocab : options.get<std::vector<std::string>>("vocabs", {}))
    files.vocabs.push_back(folder / vocab);
  files.beam_size = options.get("beam-size", files.beam_size);
  // The option without a value means 1.
  files.normalize = options.get("normalize", options.has("normalize") ? 1.0 : files.normalize);
  files.max_length_factor = options.get("max-length-factor", files.max_length_factor);
  files.allow_unk = options.get("allow-unk", files.allow_unk);
  require(files.beam_size == 1 || !options.get("skip-cost", false),
          "{}: skip-cost is set, but beam-size is {}; hypotheses are compared by probabilities, so that only a "
          "beam size of 1 has translations that do not depend on them",
          path, files.beam_size);
  files.shortlist = options.get<std::vector<std::string>>("shortlist", {});
  if (!files.shortlist.empty()) {
    files.shortlist[0] = folder / files.shortlist[0];
    std::erase(files.shortlist, "false");  // whether the checksum is verified
    std::erase(files.shortlist, "true");
  }
  if (const int longest = options.get("max-length-break", 0); longest > 0)
    files.notes.push_back(
        fmt::format("{}: max-length-break is {}; sentences with more tokens are translated whole here, not in "
                    "parts. Paragraphs are split by the option split-sentences of translations",
                    path, longest));
  return files;
}

std::vector<std::string> inputs_of(const MarianFiles& files) {
  require(files.vocabs.size() == 2,
          "{} vocabularies are given; give two, of source and target (they may be the same file)",
          files.vocabs.size());
  require(files.sentence_pieces.empty() || files.sentence_pieces.size() == 2,
          "{} SentencePiece models are given; give two, of source and target", files.sentence_pieces.size());
  std::vector<std::string> inputs{files.model};
  inputs.insert(inputs.end(), files.vocabs.begin(), files.vocabs.end());
  inputs.insert(inputs.end(), files.sentence_pieces.begin(), files.sentence_pieces.end());
  if (!files.shortlist.empty()) inputs.push_back(files.shortlist[0]);
  return inputs;
}

Imported read_marian(const MarianFiles& files) {
  const TensorMap tensors =
      files.model.ends_with(".bin") ? read_marian_bin(files.model) : read_npz(files.model);
  MarianOptions options = embedded_options(tensors);
  ModelConfig config;
  static_cast<Architecture&>(config) = architecture_of(options, tensors);
  const NameRules rules = marian_rules(config, tensors);
  if (config.positions == Positions::learned)
    config.max_positions = rows_of(tensors, rules, "embed_positions.weight", config.d_model);
  const bool joint = config.shares_embedding();
  const auto rows = [&](const char* own) {
    return rows_of(tensors, rules, joint ? "shared.weight" : own, config.d_model);
  };
  const int source_rows = rows("encoder.embed_tokens.weight"),
            target_rows = rows("decoder.embed_tokens.weight");
  const auto tokenizer = [&](size_t side, int size, TextSide text_side) {
    return marian_tokenizer(files.vocabs[side],
                            files.sentence_pieces.empty() ? std::string() : files.sentence_pieces[side], size,
                            text_side);
  };
  Imported imported{.step = R"({"step": "import", "from": "marian"})", .origin = files.model};
  imported.tokenizers = make_tokenizer_pair(tokenizer(0, source_rows, TextSide::source),
                                            tokenizer(1, target_rows, TextSide::target));
  bind_tokenizers(config, imported.tokenizers);
  config.bos = -1;  // targets have no start token
  config.task = TranslationSettings::task;
  config.settings = write_options(TranslationSettings());
  config.generation = generation_config(files);
  // The layer that was trained to align words. The default "last" does not say whether one was trained.
  if (const auto layer = options.get<std::string>("transformer-guided-alignment-layer", "last");
      layer != "last")
    config.generation.alignment_layer = guided_layer(layer, config, options.where());
  require(
      config.source_vocab == source_rows && config.target_vocab == target_rows,
      "{}: has embeddings for {} source and {} target tokens, but the vocabularies have {} and {}; give the "
      "vocabularies of this model",
      files.model, source_rows, target_rows, config.source_vocab, config.target_vocab);
  validate_described(config, options.where());
  imported.model = read_weights(tensors, rules, config);
  if (!files.shortlist.empty())
    imported.shortlist = read_marian_shortlist(files.shortlist, imported.tokenizers);
  for (const std::string& note : files.notes) imported.notes.info("{}", note);
  return imported;
}

Family marian_family() {
  return {.program = &marian,
          .name = "transformer",
          .class_name = "--type transformer",
          .title = "Transformer",
          .recognizes = [](const ImportSource&, const Family&) { return true; },
          .read = [](const ImportSource& source) { return read_marian(files_of(source)); }};
}

}  // namespace sixfold
