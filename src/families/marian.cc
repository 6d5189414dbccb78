#include "families/marian.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "families/vocabulary.h"
#include "families/weights.h"
#include "formats/npz.h"
#include "model_folder/binding.h"
#include "model_folder/ownership.h"
#include "model_folder/provenance.h"
#include "tasks/translation/alignment_layer.h"
#include "tasks/translation/settings.h"
#include "text/sentence_piece.h"
#include "text/whitespace.h"

// In Marian's names of tensors, layers are counted from 1. Its linear layers are [in, out]. Its options are
// YAML in an array of bytes. (src/models/transformer.h, src/common/config_parser.cpp of Marian 1.12)

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr const char* options_tensor = "special:model.yml";

/// Reads Marian's options from a tree, with Marian's defaults.
class MarianOptions {
 public:
  MarianOptions(OptionNode root, std::string where) : root_(std::move(root)), where_(std::move(where)) {}

  template <class T>
  T get(const char* key, T otherwise) {
    const OptionNode* node = root_.find(key);
    if (node && node->kind != OptionNode::Kind::null) read_value(OptionSource{*node, key, {}}, otherwise);
    return otherwise;
  }
  bool has(const char* key) { return root_.find(key) != nullptr; }

  /// Throws an input error unless the option has a supported value.
  template <class T>
  void require_is(const char* key, T wanted) {
    const T found = get<T>(key, wanted);
    require(found == wanted, "{}: {} is {}; only {} is supported", where_, key, found, wanted);
  }
  void require_empty(const char* key) {
    require(get<std::vector<std::string>>(key, {}).empty(), "{}: {} is set; such models are not supported",
            where_, key);
  }
  void require_same(const char* key, int otherwise, int wanted) {
    const int found = get<int>(key, otherwise);
    require(found == otherwise || found == wanted, "{}: {} is {}; only {} is supported", where_, key, found,
            wanted);
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

/// Throws an input error for options that need an unsupported architecture.
void check_supported(MarianOptions& options) {
  options.require_is<std::string>("type", "transformer");
  options.require_is<std::string>("transformer-decoder-autoreg", "self-attention");
  options.require_is<std::string>("transformer-attention-mask", "default");
  options.require_is("transformer-ffn-depth", 2);
  options.require_same("transformer-decoder-ffn-depth", 0, 2);
  options.require_same("transformer-decoder-dim-ffn", 0, options.get("transformer-dim-ffn", 2048));
  for (const char* key : {"transformer-no-projection", "transformer-no-bias", "transformer-no-affine",
                          "transformer-pool", "transformer-rnn-projection", "right-left", "ulr"})
    options.require_is(key, false);
  options.require_is("factors-dim-emb", 0);
  options.require_is("lemma-dim-emb", 0);
  options.require_empty("transformer-tied-layers");
  options.require_empty("input-types");
}

/// Parses steps such as "dan".
std::vector<ProcessStep> steps_of(MarianOptions& options, const char* key, const char* otherwise) {
  std::vector<ProcessStep> steps;
  for (const char letter : options.get<std::string>(key, otherwise)) {
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
  a.encoder_layers = options.get("enc-depth", 6);
  a.decoder_layers = options.get("dec-depth", 6);
  require_encoder_and_decoder(a, "enc-depth, dec-depth");
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

/// Renames Marian's tensors to the names of parameters.
class MarianWeights {
 public:
  MarianWeights(const TensorMap& tensors, Architecture& architecture) : reader_(tensors), a_(architecture) {}

  NamedMatrices read() {
    reader_.skip(options_tensor);
    embeddings();
    for (const bool encoder : {true, false}) stack(encoder);
    reader_.require_all_taken();
    return std::move(weights_);
  }

 private:
  void embeddings() {
    if (a_.shares_embedding()) {
      put("shared.weight", reader_.take("Wemb", -1, a_.d_model));
    } else {
      put("encoder.embed_tokens.weight", reader_.take("encoder_Wemb", -1, a_.d_model));
      put("decoder.embed_tokens.weight", reader_.take("decoder_Wemb", -1, a_.d_model));
    }
    if (a_.tied_embeddings == TiedEmbeddings::source || a_.tied_embeddings == TiedEmbeddings::none)
      put("output_projection.weight", reader_.has("decoder_ff_logit_out_Wt")
                                          ? reader_.take("decoder_ff_logit_out_Wt", -1, a_.d_model)
                                          : transposed(reader_.take("decoder_ff_logit_out_W", a_.d_model, -1)));
    if (a_.output_bias) put("output_projection.bias", reader_.take("decoder_ff_logit_out_b", 1, -1));
    if (a_.positions == Positions::learned) {
      Matrix positions = reader_.take("Wpos", -1, a_.d_model);
      a_.max_positions = static_cast<int>(positions.rows);
      put("embed_positions.weight", std::move(positions));
    }
  }

  void stack(bool encoder) {
    const std::string theirs = encoder ? "encoder" : "decoder";
    if (has_step(a_.postprocess_embedding, ProcessStep::norm))
      norm(theirs + ".layernorm_embedding", theirs + "_emb", "_pre");
    for (int i = 0; i < (encoder ? a_.encoder_layers : a_.decoder_layers); ++i) {
      const std::string layer = fmt::format("{}.layers.{}.", theirs, i),
                        prefix = fmt::format("{}_l{}_", theirs, i + 1);
      attention(layer + "self_attn", prefix + "self");
      if (!encoder) attention(layer + "encoder_attn", prefix + "context");
      linear(layer + "fc1", prefix + "ffn_W1", prefix + "ffn_b1", a_.d_model, a_.d_ff);
      linear(layer + "fc2", prefix + "ffn_W2", prefix + "ffn_b2", a_.d_ff, a_.d_model);
      norms_around(layer + "final_layer_norm", prefix + "ffn_ffn");
    }
    if (has_step(a_.postprocess_top, ProcessStep::norm)) norm(theirs + ".layer_norm", theirs + "_top", "");
  }

  void attention(const std::string& name, const std::string& prefix) {
    constexpr std::pair<const char*, const char*> maps[] = {
        {"q_proj", "q"}, {"k_proj", "k"}, {"v_proj", "v"}, {"out_proj", "o"}};
    for (const auto& [ours, theirs] : maps)
      linear(fmt::format("{}.{}", name, ours), fmt::format("{}_W{}", prefix, theirs),
             fmt::format("{}_b{}", prefix, theirs), a_.d_model, a_.d_model);
    norms_around(name + "_layer_norm", prefix + "_Wo");
  }

  void norms_around(const std::string& name, const std::string& prefix) {
    const bool after = has_step(a_.postprocess, ProcessStep::norm);
    if (has_step(a_.preprocess, ProcessStep::norm)) norm(after ? name + "_before" : name, prefix, "_pre");
    if (after) norm(name, prefix, "");
  }

  void norm(const std::string& name, const std::string& prefix, const char* suffix) {
    put(name + ".weight", reader_.take(fmt::format("{}_ln_scale{}", prefix, suffix), 1, a_.d_model));
    put(name + ".bias", reader_.take(fmt::format("{}_ln_bias{}", prefix, suffix), 1, a_.d_model));
  }

  void linear(const std::string& name, const std::string& weight, const std::string& bias, int64_t in,
              int64_t out) {
    put(name + ".weight", transposed(reader_.take(weight, in, out)));
    put(name + ".bias", reader_.take(bias, 1, out));
  }

  void put(const std::string& name, Matrix matrix) { weights_.emplace(name, std::move(matrix)); }

  WeightReader reader_;
  Architecture& a_;
  NamedMatrices weights_;
};

std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& vocab, const std::string& sentence_piece,
                                                int64_t rows, TextSide side) {
  if (vocab.ends_with(".spm")) return load_sentence_piece(mark_imported(read_file(vocab), vocab), vocab, side);
  require(vocab.ends_with(".yml") || vocab.ends_with(".yaml") || vocab.ends_with(".json"),
          "{}: only vocabularies in .spm, .yml or .json are supported, not factored ones", vocab);
  const std::vector<std::string> pieces = fitted(read_vocabulary(vocab), rows);
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

}  // namespace

MarianFiles read_marian_decoder_config(const std::string& path) {
  MarianOptions options(parse_yaml_options(read_file(path), path), path);
  const fs::path folder = options.get("relative-paths", false) ? fs::path(path).parent_path() : fs::path();
  const auto models = options.get<std::vector<std::string>>("models", {});
  require(models.size() == 1, "{}: names {} models; ensembles are not supported, only one model", path,
          models.size());
  options.require_is("word-penalty", 0.0);
  MarianFiles files{.model = folder / models[0], .vocabs = {}};
  for (const std::string& vocab : options.get<std::vector<std::string>>("vocabs", {}))
    files.vocabs.push_back(folder / vocab);
  files.beam_size = options.get("beam-size", files.beam_size);
  // The option without a value means 1.
  files.normalize = options.get("normalize", options.has("normalize") ? 1.0 : files.normalize);
  files.max_length_factor = options.get("max-length-factor", files.max_length_factor);
  files.allow_unk = options.get("allow-unk", files.allow_unk);
  return files;
}

void import_marian(const MarianFiles& files, const std::string& output) {
  require(files.vocabs.size() == 2,
          "{} vocabularies are given; give two, of source and target (they may be the same file)",
          files.vocabs.size());
  require(files.sentence_pieces.empty() || files.sentence_pieces.size() == 2,
          "{} SentencePiece models are given; give two, of source and target", files.sentence_pieces.size());
  std::vector<std::string> inputs{files.model};
  inputs.insert(inputs.end(), files.vocabs.begin(), files.vocabs.end());
  inputs.insert(inputs.end(), files.sentence_pieces.begin(), files.sentence_pieces.end());
  require_new_or_model(output, inputs);
  require(!files.model.ends_with(".bin"),
          "{}: is a model of Marian in its binary format; only the .npz can be imported", files.model);
  const TensorMap tensors = read_npz(files.model);
  MarianOptions options = embedded_options(tensors);
  ModelConfig config;
  static_cast<Architecture&>(config) = architecture_of(options, tensors);
  const NamedMatrices weights = MarianWeights(tensors, config).read();

  const bool joint = weights.contains("shared.weight");
  const int64_t source_rows = weights.at(joint ? "shared.weight" : "encoder.embed_tokens.weight").rows,
                target_rows = weights.at(joint ? "shared.weight" : "decoder.embed_tokens.weight").rows;
  const auto sentence_piece = [&](size_t side) {
    return files.sentence_pieces.empty() ? std::string() : files.sentence_pieces[side];
  };
  const Tokenizers tokenizers =
      make_tokenizer_pair(read_tokenizer(files.vocabs[0], sentence_piece(0), source_rows, TextSide::source),
                          read_tokenizer(files.vocabs[1], sentence_piece(1), target_rows, TextSide::target));
  bind_tokenizers(config, tokenizers);
  config.task = TranslationSettings::task;
  config.bos = -1;  // targets have no start token
  config.generation = generation_config(files);
  // The layer that was trained to align words. "last" is the default, whether one was trained or not.
  if (const auto layer = options.get<std::string>("transformer-guided-alignment-layer", "last");
      layer != "last")
    config.generation.alignment_layer = guided_layer(layer, config, options.where());
  require(
      config.source_vocab == source_rows && config.target_vocab == target_rows,
      "{}: has embeddings for {} source and {} target tokens, but the vocabularies have {} and {}; give the "
      "vocabularies of this model",
      files.model, source_rows, target_rows, config.source_vocab, config.target_vocab);
  const auto model = build_model(config, weights);
  model->set_generation(with_alignment_layer(*model, tokenizers));
  write_model_folder(output, *model, tokenizers, [](const std::string& folder) {
    write_provenance(folder, {}, R"({"step": "import", "from": "marian"})");
  });
}

}  // namespace sixfold
