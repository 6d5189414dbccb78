#include "families/hugging_face.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "families/json/keys.h"
#include "formats/safetensors.h"
#include "formats/torch_file.h"
#include "model_folder/require_model_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// The `model_type` of a folder's config.json; nothing if it has neither.
std::string model_type_of(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  return fs::is_regular_file(config) ? JsonKeys(config).get<std::string>("model_type", "") : "";
}

std::vector<std::string> types_of(const std::vector<const Family*>& families) {
  std::vector<std::string> types;
  for (const Family* family : families) types.emplace_back(family->name);
  return types;
}

/// The value of an environment variable, or `default_value` if it is not set or empty.
std::string environment(const char* name, const std::string& default_value) {
  const char* value = std::getenv(name);
  return value && *value ? value : default_value;
}

/// The folder in which the programs of Hugging Face keep what they download (docs of huggingface_hub,
/// "Environment variables").
fs::path hub_cache() {
  const std::string cache = environment("XDG_CACHE_HOME", environment("HOME", "") + "/.cache"),
                    home = environment("HF_HOME", cache + "/huggingface");
  return environment("HF_HUB_CACHE", environment("HUGGINGFACE_HUB_CACHE", home + "/hub"));
}

/// Whether a text may be the name of a model of the hub: "gpt2", "Helsinki-NLP/opus-mt-en-de".
bool is_hub_name(const std::string& name) {
  return std::ranges::count(name, '/') <= 1 && !name.starts_with('/') && !name.ends_with('/') &&
         !name.starts_with('.') && name.find("..") == name.npos && std::ranges::all_of(name, [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '-' || c == '_' || c == '.';
         });
}

/// The folder that a name stands for: itself if there is one, else that of a model of the hub which was
/// downloaded before.
std::string locate_model(const std::string& name) {
  std::error_code ignored;
  if (fs::exists(name, ignored) || !is_hub_name(name)) return name;
  std::string folder = "models--" + name;
  if (const size_t slash = folder.find('/'); slash != folder.npos) folder.replace(slash, 1, "--");
  const fs::path cache = hub_cache(), model = cache / folder, reference = model / "refs" / "main";
  require(
      fs::is_regular_file(reference, ignored),
      "{}: there is neither a folder of that name nor such a model in the hub's local cache, {}; if it is a "
      "model of the hub, download it with: hf download {}",
      name, cache.string(), name);
  std::string hash = read_regular_file(reference);
  while (!hash.empty() && std::isspace(static_cast<unsigned char>(hash.back()))) hash.pop_back();
  const fs::path snapshot = model / "snapshots" / hash;
  const bool named = !hash.empty() && std::ranges::all_of(hash, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
  require(named && fs::is_directory(snapshot, ignored),
          "{}: names a snapshot that is not there; download the model again with: hf download {}",
          reference.string(), name);
  return snapshot;
}

void refuse_folder(const ImportSource& source, const std::vector<const Family*>& families) {
  const fs::path folder(source.path);
  require(fs::exists(folder),
          "{}: there is no folder of that name; models of the hub are downloaded first, for example with: hf "
          "download "
          "NAME --local-dir FOLDER",
          source.path);
  std::vector<std::string> classes;
  for (const Family* family : families) classes.emplace_back(family->class_name);
  require(fs::is_regular_file(folder / "config.json"), "{}: has no config.json; give the folder of a {}",
          source.path, join_words(classes, "or"));
  throw_input_error("{}: model_type is '{}'; only {} are supported", (folder / "config.json").string(),
                    model_type_of(folder), join_words(types_of(families), "and"));
}

std::string advice_on(const std::string& path, const std::vector<const Family*>& families) {
  std::error_code ignored;
  const bool is_folder = fs::is_directory(path, ignored);
  const fs::path parent = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  const std::string folder = is_folder ? path : parent.string();
  if (!is_config_of_hugging_face(folder + "/config.json") &&
      (is_folder || fs::path(path).filename() != "pytorch_model.bin"))
    return {};
  const auto found =
      fmt::format("{} is {} of Hugging Face", path, is_folder ? "the folder of a model" : "a file of a model");
  std::string type;
  try {
    type = model_type_of(folder);
  } catch (const Error&) {  // without a type
  }
  const std::vector<std::string> types = types_of(families);
  if (std::ranges::find(types, type) != types.end())
    return fmt::format("{}; convert it with: sixfold import hf {} --output FOLDER", found, folder);
  return fmt::format("{} of type '{}', which can't be imported; models of the types {} can", found, type,
                     join_words(types, "and"));
}

}  // namespace

const Program hugging_face = {
    .name = "hf",
    .title = "Hugging Face",
    .inputs = [](const ImportSource& source) { return std::vector{source.path}; },
    .refuse = refuse_folder,
    .advise = advice_on,
    .locate = locate_model,
};

bool has_model_type(const ImportSource& source, const Family& family) {
  return model_type_of(source.path) == family.name;
}

namespace {

TensorMap read_tensor_files(const fs::path& folder) {
  const auto whole = folder / "model.safetensors", parts = folder / "model.safetensors.index.json",
             torch = folder / "pytorch_model.bin";
  if (fs::exists(whole)) return read_safetensors(whole);
  if (fs::exists(parts)) return read_sharded_safetensors(parts);
  require(fs::exists(torch),
          "{}: has no weights; expected model.safetensors, model.safetensors.index.json or pytorch_model.bin",
          folder.string());
  return read_torch(torch);
}

}  // namespace

TensorMap read_tensors(const fs::path& folder) {
  TensorMap tensors = read_tensor_files(folder);
  for (const std::string& name : tensors.names())
    for (const auto& [old, now] : {std::pair(".gamma", ".weight"), {".beta", ".bias"}})
      if (const std::string layer = name.substr(0, name.rfind('.'));
          name == layer + old && layer.ends_with("LayerNorm"))
        tensors.rename(name, layer + now);
  return tensors;
}

void set_decoder_sizes(Architecture& a, int heads, int d_ff) {
  a.decoder_heads = heads == a.heads ? 0 : heads;
  a.decoder_d_ff = d_ff == a.d_ff ? 0 : d_ff;
}

void need_usual_network(const ExportSource& source, std::string_view class_name,
                        std::initializer_list<std::string_view> supported) {
  Architecture a = source.model.config();
  set_decoder_sizes(a, a.of_decoder().heads, a.of_decoder().d_ff);
  const auto tree = write_options(a), defaults = write_options(Architecture());
  for (const char* key : {"decoder_heads", "decoder_d_ff", "attention_bias", "query_key_norm",
                          "parallel_residual", "separate_positions", "position_offset", "rotary_features",
                          "rotary_scaling", "token_types", "output_scale"}) {
    const OptionNode *own = tree.find_path(key), *other = defaults.find_path(key);
    const bool is_map = own->kind == OptionNode::Kind::map;
    source.need(
        std::ranges::count(supported, key) > 0 || to_json(*own) == to_json(*other), class_name,
        fmt::format("its {} is {}", key, is_map ? value_text(own->children.front().second) : value_text(*own)));
  }
}

void need_even_heads(const ExportSource& source, std::string_view class_name) {
  const ModelConfig& c = source.model.config();
  for (const Architecture& a : {static_cast<const Architecture&>(c), c.of_decoder()})
    source.need(a.key_value_heads() == a.heads && a.key_width() == a.value_width() &&
                    a.heads * a.key_width() == a.d_model,
                class_name, "its heads have other widths or numbers (kv_heads, d_k, d_v)");
}

void need_added_positions(const ExportSource& source, std::string_view class_name) {
  const ModelConfig& c = source.model.config();
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, class_name, difference);
  };
  need(effect_of(c.positions) == PositionEffect::sinusoids || c.positions == Positions::learned ||
           c.positions == Positions::none,
       fmt::format("its positions are '{}'", name_of_enum(c.positions)));
  need(c.encoder_mixer == MixerKind::attention && c.decoder_mixer == MixerKind::attention,
       fmt::format("its encoder_mixer is '{}' and its decoder_mixer '{}'", name_of_enum(c.encoder_mixer),
                   name_of_enum(c.decoder_mixer)));
  need(c.attention_score == AttentionScore::scaled_dot,
       fmt::format("its attention_score is '{}'", name_of_enum(c.attention_score)));
}

TranslationSettings plain_settings(const ExportSource& source, std::string_view class_name) {
  auto settings = settings_of<TranslationSettings>(source.model.config());
  source.need(settings.language_token.empty() && settings.source_start.empty() && settings.source_end.empty() &&
                  settings.target_start.empty(),
              class_name, "other tokens than the end token stand around its texts");
  return settings;
}

std::vector<std::string> pieces_of(const Tokenizer& tokenizer) {
  std::vector<std::string> pieces;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) pieces.push_back(tokenizer.token_text(id));
  return pieces;
}

}  // namespace sixfold
