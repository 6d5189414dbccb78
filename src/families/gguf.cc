#include "formats/gguf.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/join.h"
#include "families/families.h"
#include "families/gguf_tokenizer.h"
#include "families/json/causal.h"
#include "families/json/chat_template.h"
#include "families/json/rope.h"

// Language models in llama.cpp's format GGUF. The names of tensors are defined in gguf-py's constants.py, those
// of keys in ggml's docs/gguf.md.

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// The differences between the architectures that general.architecture names. All other differences can be seen
/// from the tensors: a file has biases of attention, norms of queries and keys, and an output projection only
/// if the model does.
struct GgufArchitecture {
  std::string_view name;
  /// Whether the features of a head that are rotated together are half a head apart, as in transformers.
  /// Otherwise they were made adjacent when the file was written, which is our order.
  bool halves_rotate;
  /// Whether queries, keys and values are one tensor, and gate and input of the feed-forward layer too.
  bool fused = false;
  bool window = false;  ///< whether attention.sliding_window is supported
};
constexpr GgufArchitecture gguf_architectures[] = {
    {"llama", false},
    {"qwen2", true},
    {"qwen3", true},
    {.name = "phi3", .halves_rotate = true, .fused = true, .window = true},
};

const GgufArchitecture& architecture_named(std::string_view name) {
  return *std::ranges::find(gguf_architectures, name, &GgufArchitecture::name);
}

/// The keys of an architecture, which begin with its name.
class GgufKeys {
 public:
  explicit GgufKeys(const GgufFile& file) : file_(file), name_(file.text("general.architecture")) {}

  std::string key(std::string_view name) const { return fmt::format("{}.{}", name_, name); }
  bool has(std::string_view name) const { return file_.has(key(name)); }
  int size(std::string_view name) const { return static_cast<int>(file_.integer(key(name), 1, 1 << 24)); }
  int size(std::string_view name, int default_value) const { return has(name) ? size(name) : default_value; }
  int count(std::string_view name) const {
    return has(name) ? static_cast<int>(file_.integer(key(name), 0, 1 << 30)) : 0;
  }
  double number(std::string_view name, double default_value) const {
    return has(name) ? file_.number(key(name)) : default_value;
  }
  std::string text(std::string_view name, std::string_view default_value) const {
    return has(name) ? file_.text(key(name)) : std::string(default_value);
  }
  /// Throws an input error unless the value of a key, if there is one, is `supported`.
  void require_number(std::string_view name, double supported) const {
    require(number(name, supported) == supported, "{}: {} is {}; only {} is supported", file_.path(), key(name),
            number(name, supported), supported);
  }

  const std::string& name() const { return name_; }

 private:
  const GgufFile& file_;
  std::string name_;
};

NameRules gguf_rules(const GgufArchitecture& architecture, const TensorMap& tensors) {
  const std::string theirs = "blk.*.", ours = "decoder.layers.*.", attention = ours + "self_attn.";
  using Steps = std::vector<Step>;
  const Steps rotated = architecture.halves_rotate ? Steps{Step::rotate_halves} : Steps();
  NameRules rules{
      {"token_embd.weight", {"decoder.embed_tokens.weight"}},
      {"output.weight", {"output_projection.weight"}},
      {"output_norm.weight", {"decoder.layer_norm.weight"}},
      {theirs + "attn_norm.weight", {ours + "self_attn_layer_norm.weight"}},
      {theirs + "ffn_norm.weight", {ours + "final_layer_norm.weight"}},
      {theirs + "ffn_down.weight", {ours + "fc2.weight"}},
      {theirs + "attn_q_norm.weight", {attention + "q_norm.weight"}, rotated},
      {theirs + "attn_k_norm.weight", {attention + "k_norm.weight"}, rotated},
      {"rope_freqs.weight", {}, {}, Holds::nothing},  // factors of wavelengths, which the config contains
      {"rope_factors_*.weight", {}, {}, Holds::nothing},
  };
  if (architecture.fused)
    rules.push_back({theirs + "ffn_up.weight", {ours + "fc_gate.weight", ours + "fc1.weight"}});
  else
    rules.insert(rules.end(), {{theirs + "ffn_up.weight", {ours + "fc1.weight"}},
                               {theirs + "ffn_gate.weight", {ours + "fc_gate.weight"}}});
  const auto add = [&](const std::string& part, std::initializer_list<const char*> projections,
                       const Steps& steps) {
    NameRule weights{theirs + part + ".weight", {}, steps}, biases{theirs + part + ".bias", {}, steps};
    if (!tensors.find(fmt::format("blk.0.{}.bias", part))) biases.theirs.clear();
    for (const std::string projection : projections) {
      weights.ours.push_back(attention + projection + ".weight");
      biases.ours.push_back(attention + projection + ".bias");
    }
    rules.insert(rules.end(), {weights, biases});
  };
  if (architecture.fused)
    add("attn_qkv", {"q_proj", "k_proj", "v_proj"}, rotated);
  else
    add("attn_q", {"q_proj"}, rotated), add("attn_k", {"k_proj"}, rotated), add("attn_v", {"v_proj"}, {});
  add("attn_output", {"out_proj"}, {});
  return rules;
}

/// The scaling of rotary positions. The scalings llama3 and longrope of transformers are stored as tensors of
/// factors of the wavelengths. Since longrope has different factors for texts that are longer than those of the
/// original training, `context_tokens` becomes the length of these. The keys of yarn have the same meaning as
/// in transformers.
RotaryScaling gguf_scaling(const GgufFile& file, const GgufKeys& keys, ModelConfig& c) {
  const std::string type = keys.text("rope.scaling.type", "linear");  // the default of llama.cpp
  const bool is_longrope = type == "longrope", is_yarn = type == "yarn";
  const auto has = [&](const char* tensor) { return file.tensors().find(tensor) != nullptr; };
  const char *of_short = "rope_factors_short.weight", *of_long = "rope_factors_long.weight";
  require(has(of_short) || !has(of_long), "{}: has '{}' for long texts, but no '{}' for those before",
          file.path(), of_long, of_short);
  require(!has(of_short) || !has("rope_freqs.weight"), "{}: has '{}' and 'rope_freqs.weight'; give one of them",
          file.path(), of_short);
  const char* factors = has(of_short) ? of_short : has("rope_freqs.weight") ? "rope_freqs.weight" : nullptr;
  const double factor = keys.number("rope.scaling.factor", keys.number("rope.scale_linear", 1));
  const double attention_factor = keys.number("rope.scaling.attn_factor", 1);
  RotaryScaling s{.factor = static_cast<float>(factor),
                  .original_context = keys.size("rope.scaling.original_context_length", c.context_tokens)};
  if (factors) {
    require(is_longrope || type == "none" || (factor == 1 && !keys.has("rope.scaling.type")),
            "{}: {} is '{}' with the factor {}, and a tensor scales rotary positions too; only one of them is "
            "supported",
            file.path(), keys.key("rope.scaling.type"), type, factor);
    s.kind = RotaryScalingKind::factors;
    s.factor = 1;
    s.factors = matrix_of(file.tensors(), factors).values;
    s.magnitude = static_cast<float>(attention_factor);
    if (factors == of_short) c.context_tokens = std::min(c.context_tokens, s.original_context);
  } else if (is_yarn) {
    s.kind = RotaryScalingKind::yarn;
    s.low = static_cast<float>(keys.number("rope.scaling.yarn_beta_slow", 1));
    s.high = static_cast<float>(keys.number("rope.scaling.yarn_beta_fast", 32));
    s.magnitude = static_cast<float>(attention_factor *
                                     keys.number("rope.scaling.yarn_attn_factor", yarn_magnitude(factor)));
    keys.require_number("rope.scaling.yarn_log_multiplier", 0);
  } else {
    require(type == "linear" || type == "none",
            "{}: {} is '{}'; only linear, yarn and longrope with its factors are supported", file.path(),
            keys.key("rope.scaling.type"), type);
    keys.require_number("rope.scaling.attn_factor", 1);
    if (type == "none" || factor == 1) return {};
    s.kind = RotaryScalingKind::linear;
  }
  return s;
}

/// Throws an input error for keys that change what the model computes and are not supported.
void check_gguf(const GgufKeys& keys) {
  for (const char* name : {"embedding_scale", "residual_scale", "logit_scale"}) keys.require_number(name, 1);
  for (const char* name :
       {"expert_count", "attention.clamp_kqv", "attention.max_alibi_bias", "attention.scale"})
    keys.require_number(name, 0);
}

ModelConfig gguf_config(const GgufFile& file, const GgufKeys& keys) {
  const GgufArchitecture& architecture = architecture_named(keys.name());
  const auto has = [&](std::string_view tensor) { return file.tensors().find(tensor) != nullptr; };
  ModelConfig c;
  static_cast<Architecture&>(c) = causal_architecture();
  c.d_model = keys.size("embedding_length");
  c.heads = keys.size("attention.head_count");
  c.kv_heads = keys.size("attention.head_count_kv", c.heads);
  if (keys.has("attention.key_length")) c.d_k = keys.size("attention.key_length");
  if (keys.has("attention.value_length")) c.d_v = keys.size("attention.value_length");
  c.query_key_norm = has("blk.0.attn_q_norm.weight");
  c.d_ff = keys.size("feed_forward_length");
  c.decoder_layers = keys.size("block_count");
  c.context_tokens = keys.size("context_length");
  c.positions = Positions::rotary;
  c.rotary_base = static_cast<float>(keys.number("rope.freq_base", 10000));
  const int rotated = keys.size("rope.dimension_count", c.key_width());
  c.rotary_features = rotated == c.key_width() ? 0 : rotated;
  c.rotary_scaling = gguf_scaling(file, keys, c);
  const std::string window_key = fmt::format("{}: {}", file.path(), keys.key("attention.sliding_window"));
  const int window = keys.count("attention.sliding_window");
  require(architecture.window || window == 0 || window >= c.context_tokens,
          "{} is {}, less than the {} tokens of a text; only full attention is supported", window_key, window,
          c.context_tokens);
  set_window(window, window_key, c);
  c.activation = Activation::swish;
  c.feed_forward_gate = true;
  c.feed_forward_bias = false;
  c.norm = Norm::rms;
  c.norm_epsilon = static_cast<float>(keys.number("attention.layer_norm_rms_epsilon", 1e-5));
  c.tied_embeddings = has("output.weight") ? TiedEmbeddings::none : TiedEmbeddings::decoder;
  c.dropout = 0;
  check_gguf(keys);
  return c;
}

Imported read_gguf(const ImportSource& source) {
  const GgufFile file = GgufFile::open(source.path);
  const GgufKeys keys(file);
  ModelConfig config = gguf_config(file, keys);
  const NameRules rules = gguf_rules(architecture_named(keys.name()), file.tensors());
  const int rows = rows_of(file.tensors(), rules, "decoder.embed_tokens.weight", config.d_model);
  const GgufTokenizer read = read_gguf_tokenizer(file, rows);
  Imported imported{.step = R"({"step": "import", "from": "gguf"})", .origin = source.path};
  imported.tokenizers = {read.tokenizer, read.tokenizer, true};
  config.generation.normalization = ScoreNormalization::length;  // as `generate` of transformers by default
  config.generation.length_penalty = 1;
  config.generation.stopping_criterion = StoppingCriterion::best_is_no_better_now;
  config.generation.at_longest = AtLongest::cut;
  LanguageModelSettings settings;
  if (file.has("tokenizer.chat_template"))
    settings.chat = chat_of_template(file.text("tokenizer.chat_template"), *read.tokenizer, read.starts_texts,
                                     source.path, imported.notes);
  set_causal_tokens(config, imported.tokenizers,
                    {.bos = read.bos, .eos = read.eos, .more_ends = read.more_ends},
                    read.starts_texts ? read.bos : -1, std::move(settings));
  validate_described(config, source.path);
  imported.model = read_weights(file.tensors(), rules, config);
  return imported;
}

/// The architecture of a GGUF file; empty if the file is not in GGUF.
std::string gguf_architecture_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  std::string magic(4, '\0');
  std::ifstream(path, std::ios::binary).read(magic.data(), std::ssize(magic));
  return magic == "GGUF" ? GgufFile::open(path).text("general.architecture") : std::string();
}

std::vector<std::string> names_of(const std::vector<const Family*>& families) {
  std::vector<std::string> names;
  for (const Family* family : families) names.emplace_back(family->name);
  return names;
}

void refuse_gguf(const ImportSource& source, const std::vector<const Family*>& families) {
  require(fs::is_regular_file(source.path), "{}: there is no file of that name; give a .gguf file",
          source.path);
  const std::string name = GgufFile::open(source.path).text("general.architecture");
  throw_input_error("{}: general.architecture is '{}'; only {} are supported", source.path, name,
                    join_words(names_of(families), "and"));
}

std::string gguf_advice(const std::string& path, const std::vector<const Family*>&) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored) && fs::path(path).extension() == ".gguf")
    return fmt::format("{} is a model of llama.cpp; convert it with: sixfold import gguf {} --output FOLDER",
                       path, path);
  return {};
}

const Program gguf = {
    .name = "gguf",
    .title = "GGUF",
    .inputs = [](const ImportSource& source) { return std::vector{source.path}; },
    .refuse = refuse_gguf,
    .advise = gguf_advice,
};

Family gguf_family(std::string_view name, std::string_view title) {
  return {.program = &gguf,
          .name = name,
          .class_name = name,
          .title = title,
          .recognizes = [](const ImportSource& source,
                           const Family& family) { return gguf_architecture_of(source.path) == family.name; },
          .read = read_gguf};
}

}  // namespace

Family gguf_llama_family() { return gguf_family("llama", "Llama"); }
Family gguf_qwen2_family() { return gguf_family("qwen2", "Qwen2"); }
Family gguf_qwen3_family() { return gguf_family("qwen3", "Qwen3"); }
Family gguf_phi3_family() { return gguf_family("phi3", "Phi-3"); }

}  // namespace sixfold
