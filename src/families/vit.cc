#include <algorithm>
#include <cmath>

#include "families/families.h"
#include "families/json/causal.h"
#include "families/json/encoder.h"
#include "families/model_card.h"
#include "tasks/classification/settings.h"

// The vision Transformer of Hugging Face (Dosovitskiy et al. 2021). The meaning of keys and tensors is defined
// in transformers' configuration_vit.py, modeling_vit.py and image_processing_vit.py.

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* vit_class = "ViTForImageClassification";

/// Without `qkv_bias`, queries, keys and values have no biases, but the output of attention has one.
NameRules vit_rules(const ModelConfig& c, bool qkv_bias) {
  const std::string scope = "vit.", theirs = scope + "encoder.layer.*.", ours = "encoder.layers.*.",
                    attention = ours + "self_attn.", patches = "encoder.embed_patches.",
                    projection = scope + "embeddings.patch_embeddings.projection.";
  const int64_t d = c.d_model, channels = c.image.channels, patch = c.image.patch;
  NameRules rules{
      {.theirs = scope + "embeddings.cls_token", .ours = {patches + "class_token"}, .shape = {1, 1, d}},
      {.theirs = scope + "embeddings.position_embeddings",
       .ours = {"embed_positions.weight"},
       .shape = {1, c.image.rows(), d}},
      {.theirs = projection + "weight",
       .ours = {patches + "weight"},
       .steps = {Step::channels_last},
       .channels = channels,
       .shape = {d, channels, patch, patch}},
      {projection + "bias", {patches + "bias"}},
  };
  for (const char* part : {"q", "k", "v"})
    if (!qkv_bias) rules.push_back({"", {attention + part + "_proj.bias"}});
  const NameRule layers[] = {
      {theirs + "attention.attention.query.*", {attention + "q_proj.*"}},
      {theirs + "attention.attention.key.*", {attention + "k_proj.*"}},
      {theirs + "attention.attention.value.*", {attention + "v_proj.*"}},
      {theirs + "attention.output.dense.*", {attention + "out_proj.*"}},
      {theirs + "layernorm_before.*", {ours + "self_attn_layer_norm.*"}},
      {theirs + "intermediate.dense.*", {ours + "fc1.*"}},
      {theirs + "output.dense.*", {ours + "fc2.*"}},
      {theirs + "layernorm_after.*", {ours + "final_layer_norm.*"}},
      {scope + "layernorm.*", {"encoder.layer_norm.*"}},
      {"classifier.*", {"classifier.*"}},
      {scope + "pooler.dense.*", {}, {}, Holds::nothing},
  };
  rules.insert(rules.end(), std::begin(layers), std::end(layers));
  return rules;
}

/// Height and width in a key, which has one number for both or two numbers.
std::pair<int, int> sides_of(const JsonKeys& keys, const char* key, int default_value) {
  if (!keys.has(key) || !keys.at(key).is_array()) {
    const int side = keys.positive(key, default_value);
    return {side, side};
  }
  const json& sides = keys.at(key);
  require(sides.size() == 2, "{}: {} is {}; expected a number, or height and width", keys.path(), key,
          sides.dump());
  const auto side = [&](size_t i) {
    return static_cast<int>(whole_number(sides[i], fmt::format("{}: {}", keys.path(), key), 1, 1 << 14));
  };
  return {side(0), side(1)};
}

/// The numbers in a key: one for each channel, or one for all.
std::vector<float> channels_of(const JsonKeys& keys, const char* key, std::vector<float> default_value) {
  if (!keys.has(key)) return default_value;
  const json all = keys.at(key).is_array() ? keys.at(key) : json::array({keys.at(key)});
  std::vector<float> numbers;
  for (const json& one : all) {
    require(one.is_number(), "{}: {} is {}; expected numbers", keys.path(), key, all.dump());
    numbers.push_back(one.get<float>());
  }
  return numbers;
}

/// Reads preprocessor_config.json: how pixels are scaled. transformers resizes images of another size, and
/// Sixfold refuses them.
void read_processor(const fs::path& folder, ImageInput& image, Notes& notes) {
  const fs::path path = folder / "preprocessor_config.json";
  if (!fs::exists(path))
    return notes.warn("{}: is not there; pixels are scaled to -1 to 1, as by ViTImageProcessor", path.string());
  const JsonKeys keys(path);
  for (const char* key : {"image_processor_type", "feature_extractor_type"}) {
    const auto type = keys.get<std::string>(key, "ViTImageProcessor");
    require(type.starts_with("ViT"), "{}: {} is {}; only ViTImageProcessor is supported", keys.path(), key,
            type);
  }
  keys.require_is("do_rescale", true, true);
  const double factor = keys.get("rescale_factor", 1.0 / 255);
  require(std::abs(factor * 255 - 1) < 1e-5, "{}: rescale_factor is {}; only 1 / 255 is supported", keys.path(),
          factor);
  const bool normalizes = keys.get("do_normalize", true);
  image.mean = normalizes ? channels_of(keys, "image_mean", {0.5f}) : std::vector{0.0f};
  image.std = normalizes ? channels_of(keys, "image_std", {0.5f}) : std::vector{1.0f};
  if (!keys.get("do_resize", true) || !keys.has("size")) return;
  const json& size = keys.at("size");
  const JsonKeys sides(path, size.is_object() ? size.dump() : json{{"height", size}, {"width", size}}.dump());
  require(sides.size("height") == image.height && sides.size("width") == image.width,
          "{}: size is {}, but image_size of config.json is {} x {}", keys.path(), size.dump(), image.height,
          image.width);
}

ImageInput vit_image(const JsonKeys& keys) {
  const auto [height, width] = sides_of(keys, "image_size", 224);
  const auto [patch, other] = sides_of(keys, "patch_size", 16);
  require(patch == other, "{}: patch_size is {} x {}; only squares are supported", keys.path(), patch, other);
  return {.height = height,
          .width = width,
          .channels = keys.positive("num_channels", 3),
          .patch = patch,
          .class_token = true};
}

/// Sets the settings that are the same in all models of the family.
void set_network(ModelConfig& c) {
  const ModelConfig defaults;
  c.decoder_layers = 0;
  c.preprocess = c.postprocess_top = {ProcessStep::norm};
  c.postprocess = {ProcessStep::dropout, ProcessStep::add};
  c.postprocess_embedding = {ProcessStep::dropout};
  c.positions = Positions::learned;
  c.max_positions = c.image.rows();
  c.beyond_positions = defaults.beyond_positions;
  c.embedding_scale = defaults.embedding_scale;
  c.attention_bias = c.feed_forward_bias = true;
  c.output_bias = defaults.output_bias;
  c.tied_embeddings = TiedEmbeddings::none;
  c.activation_dropout = 0;
  c.source_vocab = ModelConfig::pixel_values;
  c.unk = c.eos = 0, c.bos = -1;
  c.generation = {};
}

Imported read_vit(const ImportSource& source) {
  const fs::path folder(source.path);
  const JsonKeys keys(folder / "config.json");
  const json classes = keys.has("architectures") ? keys.at("architectures") : json::array({vit_class});
  require(classes == json::array({vit_class}), "{}: architectures is {}; only {} is supported", keys.path(),
          classes.dump(), vit_class);
  Imported imported{.step = hugging_face_step, .origin = source.path};
  ModelConfig c;
  c.image = vit_image(keys);
  read_processor(folder, c.image, imported.notes);
  set_network(c);
  c.d_model = keys.positive("hidden_size", 768);
  c.heads = keys.positive("num_attention_heads", 12);
  c.d_ff = keys.positive("intermediate_size", 3072);
  c.encoder_layers = keys.positive("num_hidden_layers", 12);
  c.activation = causal_activation(keys, "hidden_act", "gelu");
  c.norm_epsilon = keys.get("layer_norm_eps", 1e-12f);
  c.dropout = keys.get("hidden_dropout_prob", 0.0f);
  c.attention_dropout = keys.get("attention_probs_dropout_prob", 0.0f);
  const std::vector<std::string> labels = labels_of(keys);
  c.head = {.kind = ClassificationSettings::network_on_images.head,
            .classes = static_cast<int>(labels.size()),
            .pooling = Pooling::first};
  c.target_vocab = c.head.classes;
  c.task = ClassificationSettings::task_on_images;
  c.settings = write_options(ClassificationSettings{labels});
  validate_described(c, keys.path());
  imported.notes.info(
      "{}: reads images of {} x {} pixels; make them so before, since Sixfold does not resize them",
      source.path, c.image.height, c.image.width);
  imported.model = read_weights(read_tensors(folder), vit_rules(c, keys.get("qkv_bias", true)), c);
  return imported;
}

void check_vit(const ExportSource& source) {
  check_encoder_layers(source, vit_class, {"attention_bias"});
  const ModelConfig& c = source.model.config();
  const auto need = [&](bool supported, const std::string& difference) {
    source.need(supported, vit_class, difference);
  };
  need(c.preprocess == std::vector{ProcessStep::norm} && c.postprocess_top == std::vector{ProcessStep::norm} &&
           !has_step(c.postprocess, ProcessStep::norm) && has_step(c.postprocess, ProcessStep::add) &&
           !has_step(c.postprocess_embedding, ProcessStep::norm),
       "its norms are not before the sub-layers, with one at the top (preprocess, postprocess, "
       "postprocess_top, postprocess_embedding)");
  need(c.image.class_token, "its images have no class token (image.class_token)");
  need(c.image.step() == c.image.patch, "its patches overlap (image.stride)");
  need(c.head.pooling == Pooling::first, fmt::format("its head.pooling is '{}'", name_of_enum(c.head.pooling)));
  need(!c.head.dense, "its head has another linear map (head.dense)");
}

/// The config of the exported model, which importing it gives.
ModelConfig exported_vit_config(const ModelConfig& own) {
  ModelConfig c = own;
  set_network(c);
  c.decoder_mixer = Architecture().decoder_mixer;
  c.decoder_start_token = Architecture().decoder_start_token;
  c.image.stride = 0;
  for (std::vector<float>* numbers : {&c.image.mean, &c.image.std})
    if (numbers->size() == 1) numbers->resize(static_cast<size_t>(c.image.channels), numbers->front());
  return c;
}

void write_vit_json(const fs::path& folder, const ModelConfig& c) {
  const ImageInput& image = c.image;
  ordered_json keys{{"architectures", {vit_class}},
                    {"model_type", "vit"},
                    {"hidden_size", c.d_model},
                    {"num_attention_heads", c.heads},
                    {"intermediate_size", c.d_ff},
                    {"num_hidden_layers", c.encoder_layers},
                    {"hidden_act", causal_activation_name(c.activation)},
                    {"layer_norm_eps", shortest_decimal(c.norm_epsilon)},
                    {"hidden_dropout_prob", shortest_decimal(c.dropout)},
                    {"attention_probs_dropout_prob", shortest_decimal(c.attention_dropout)},
                    {"patch_size", image.patch},
                    {"num_channels", image.channels},
                    {"qkv_bias", true},
                    {"dtype", "float32"}};
  keys["image_size"] =
      image.height == image.width ? ordered_json(image.height) : ordered_json({image.height, image.width});
  write_labels(labels_of(c), keys);
  write_json(folder / "config.json", keys);
  ordered_json mean = ordered_json::array(), std = ordered_json::array();
  for (const float number : image.mean) mean.push_back(shortest_decimal(number));
  for (const float number : image.std) std.push_back(shortest_decimal(number));
  write_json(folder / "preprocessor_config.json", {{"image_processor_type", "ViTImageProcessor"},
                                                   {"do_resize", true},
                                                   {"size", {{"height", image.height}, {"width", image.width}}},
                                                   {"resample", 2},
                                                   {"do_rescale", true},
                                                   {"rescale_factor", 1.0 / 255},
                                                   {"do_normalize", true},
                                                   {"image_mean", mean},
                                                   {"image_std", std}});
}

Exported write_vit(const ExportSource& source, const std::string& output) {
  require_task(source.model.config(), ClassificationSettings::network_on_images, source.folder);
  check_vit(source);
  const fs::path folder(output);
  Exported exported;
  const ModelConfig c = exported.config = exported_vit_config(source.model.config());
  write_vit_json(folder, c);
  exported.values = encoder_values(source.model);
  write_weights(folder / "model.safetensors", vit_rules(c, /*qkv_bias=*/true), c, exported.values);
  write_file_atomically(folder / "README.md",
                        encoder_card(source.model.config(), vit_class, "AutoImageProcessor", source.folder));
  return exported;
}

}  // namespace

Family vit_family() {
  return {.program = &hugging_face,
          .name = "vit",
          .class_name = vit_class,
          .title = "ViT",
          .recognizes = has_model_type,
          .read = read_vit,
          .exports = "classifiers of images",
          .takes = [](const ModelConfig& c) { return c.task == ClassificationSettings::task_on_images; },
          .write = write_vit};
}

}  // namespace sixfold
