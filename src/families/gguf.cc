#include "formats/gguf.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/join.h"
#include "families/families.h"
#include "families/gguf_tokenizer.h"
#include "families/json/causal.h"
#include "families/json/chat_template.h"

// Language models in llama.cpp's format GGUF. The names of tensors are defined in gguf-py's constants.py, those
// of keys in ggml's docs/gguf.md.

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// What tells the architectures apart that general.architecture names. All others of their parts are told by
/// the tensors: biases of attention where the file has them, and an output projection unless it is tied.
struct GgufArchitecture {
  std::string_view name;
  /// The features of a head that are rotated together are half a head apart, as in transformers. Otherwise they
  /// were put side by side when the file was made, as ours are.
  bool halves_rotate;
  Activation activation = Activation::swish;
};
constexpr GgufArchitecture gguf_architectures[] = {
    {"llama", false},
    {"qwen2", true},
};

const GgufArchitecture& architecture_named(std::string_view name) {
  return *std::ranges::find(gguf_architectures, name, &GgufArchitecture::name);
}

/// Keys of an architecture, whose names begin with it.
class GgufKeys {
 public:
  explicit GgufKeys(const GgufFile& file) : file_(file), name_(file.text("general.architecture")) {}

  std::string key(std::string_view name) const { return fmt::format("{}.{}", name_, name); }
  bool has(std::string_view name) const { return file_.has(key(name)); }
  int size(std::string_view name) const { return static_cast<int>(file_.integer(key(name), 1, 1 << 24)); }
  int size(std::string_view name, int otherwise) const { return has(name) ? size(name) : otherwise; }
  double number(std::string_view name, double otherwise) const {
    return has(name) ? file_.number(key(name)) : otherwise;
  }
  /// Throws an input error unless the value of a key, if there is one, is `wanted`.
  void require_number(std::string_view name, double wanted) const {
    require(number(name, wanted) == wanted, "{}: {} is {}; only {} is supported", file_.path(), key(name),
            number(name, wanted), wanted);
  }

  const std::string& name() const { return name_; }

 private:
  const GgufFile& file_;
  std::string name_;
};

NameRules gguf_rules(const GgufArchitecture& architecture, const TensorMap& tensors) {
  const std::string theirs = "blk.*.", ours = "decoder.layers.*.", attention = ours + "self_attn.";
  std::vector<Step> rotated;
  if (architecture.halves_rotate) rotated.push_back(Step::rotate_halves);
  NameRules rules{
      {"token_embd.weight", {"decoder.embed_tokens.weight"}},
      {"output.weight", {"output_projection.weight"}},
      {"output_norm.weight", {"decoder.layer_norm.weight"}},
      {theirs + "attn_norm.weight", {ours + "self_attn_layer_norm.weight"}},
      {theirs + "ffn_norm.weight", {ours + "final_layer_norm.weight"}},
      {theirs + "ffn_up.weight", {ours + "fc1.weight"}},
      {theirs + "ffn_gate.weight", {ours + "fc_gate.weight"}},
      {theirs + "ffn_down.weight", {ours + "fc2.weight"}},
  };
  for (const auto& [part, projection, steps] :
       {std::tuple("attn_q", "q_proj", rotated), std::tuple("attn_k", "k_proj", rotated),
        std::tuple("attn_v", "v_proj", std::vector<Step>()),
        std::tuple("attn_output", "out_proj", std::vector<Step>())}) {
    rules.push_back({theirs + part + ".weight", {attention + projection + ".weight"}, steps});
    const bool has_bias = tensors.find(fmt::format("blk.0.{}.bias", part)) != nullptr;
    rules.push_back({has_bias ? theirs + part + ".bias" : "", {attention + projection + ".bias"}, steps});
  }
  return rules;
}

/// Throws an input error for keys and tensors that change what the model computes and are not supported.
void check_gguf(const GgufFile& file, const GgufKeys& keys, const Architecture& a) {
  const std::string scaling = keys.key("rope.scaling.type");
  require(!file.has(scaling) || file.text(scaling) == "none",
          "{}: {} is '{}'; only unscaled rotary positions are supported", file.path(), scaling,
          file.has(scaling) ? file.text(scaling) : "");
  require(!file.tensors().find("rope_freqs.weight"),
          "{}: tensor 'rope_freqs.weight' scales the rotary positions; only unscaled ones are supported",
          file.path());
  keys.require_number("rope.dimension_count", a.key_width());
  for (const char* name :
       {"rope.scale_linear", "rope.scaling.factor", "embedding_scale", "residual_scale", "logit_scale"})
    keys.require_number(name, 1);
  for (const char* name :
       {"expert_count", "attention.clamp_kqv", "attention.max_alibi_bias", "attention.scale"})
    keys.require_number(name, 0);
  const int context = keys.size("context_length");
  require(keys.size("attention.sliding_window", context) >= context,
          "{}: {} is less than the {} tokens of a text; only full attention is supported", file.path(),
          keys.key("attention.sliding_window"), context);
}

Architecture gguf_architecture(const GgufFile& file, const GgufKeys& keys) {
  Architecture a = causal_architecture();
  a.d_model = keys.size("embedding_length");
  a.heads = keys.size("attention.head_count");
  a.kv_heads = keys.size("attention.head_count_kv", a.heads);
  if (keys.has("attention.key_length")) a.d_k = keys.size("attention.key_length");
  if (keys.has("attention.value_length")) a.d_v = keys.size("attention.value_length");
  a.d_ff = keys.size("feed_forward_length");
  a.decoder_layers = keys.size("block_count");
  a.positions = Positions::rotary;
  a.rotary_base = static_cast<float>(keys.number("rope.freq_base", 10000));
  a.activation = architecture_named(keys.name()).activation;
  a.feed_forward_gate = true;
  a.feed_forward_bias = false;
  a.norm = Norm::rms;
  a.norm_epsilon = static_cast<float>(keys.number("attention.layer_norm_rms_epsilon", 1e-5));
  a.tied_embeddings = file.tensors().find("output.weight") ? TiedEmbeddings::none : TiedEmbeddings::decoder;
  a.dropout = 0;
  check_gguf(file, keys, a);
  return a;
}

Imported read_gguf(const ImportSource& source) {
  const GgufFile file = GgufFile::open(source.path);
  const GgufKeys keys(file);
  ModelConfig config;
  static_cast<Architecture&>(config) = gguf_architecture(file, keys);
  config.context_tokens = keys.size("context_length");
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

/// The architecture of a GGUF file; nothing if it is none.
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
          .recognises = [](const ImportSource& source,
                           const Family& family) { return gguf_architecture_of(source.path) == family.name; },
          .read = read_gguf};
}

}  // namespace

Family gguf_llama_family() { return gguf_family("llama", "Llama"); }
Family gguf_qwen2_family() { return gguf_family("qwen2", "Qwen2"); }

}  // namespace sixfold
