#include "model_folder/derived.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "model_folder/config_file.h"
#include "model_folder/model_folder.h"
#include "model_folder/ownership.h"
#include "model_folder/provenance.h"
#include "model_folder/require_model_folder.h"
#include "model_folder/shortlist.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

/// Throws an input error unless both models have the same architecture, vocabularies and task. Dropout and
/// generation settings may differ, as well as those settings of the task that are single values or that only
/// one model has.
void require_same_architecture(ModelConfig a, ModelConfig b, const std::string& folder_a,
                               const std::string& folder_b) {
  for (ModelConfig* config : {&a, &b}) {
    config->dropout = config->attention_dropout = config->activation_dropout = 0;
    config->generation = {};
    config->drop_fitted_settings();
    // 0 stands for the encoder's sizes.
    if (config->decoder_heads == config->heads) config->decoder_heads = 0;
    if (config->decoder_d_ff == config->d_ff) config->decoder_d_ff = 0;
  }
  const auto refuse = [&](const std::string& key, const OptionNode* left, const OptionNode* right) {
    if (left && left->kind == OptionNode::Kind::list)
      throw_input_error("{} and {} can't be averaged: {} differ", folder_a, folder_b, key);
    const auto text = [](const OptionNode* node) { return node ? value_text(*node) : "not set"; };
    throw_input_error("{} and {} can't be averaged: {} is {} in the first and {} in the second", folder_a,
                      folder_b, key, text(left), text(right));
  };
  const OptionNode left = write_options(a), right = write_options(b);
  if (a.task != b.task) refuse("task", left.find_path("task"), right.find_path("task"));
  for (const std::string& key : differing_keys(left, right))
    refuse(key, left.find_path(key), right.find_path(key));
  for (const auto& [key, value] : a.settings.children)
    if (const OptionNode* other = b.settings.find(key))
      if (value.kind != OptionNode::Kind::plain && !value_text(value).empty() && !value_text(*other).empty() &&
          to_json(value) != to_json(*other))
        refuse(key, &value, other);
}

std::string hash_of_weights_file(const std::string& folder) {
  const MappedFile file(folder + "/model.safetensors");
  return hash_hex({reinterpret_cast<const char*>(file.data()), file.size()});
}

/// Copies the tokenizers of the first model, and its shortlist if all models have the same one: a list that was
/// chosen for some of them need not suit what is made of all. Throws an input error if a shortlist is damaged.
void copy_tokenizers(const std::vector<std::string>& folders, const std::string& to) {
  const auto copy = [&](const fs::path& path) {
    write_file_atomically(fs::path(to) / path.filename(), read_regular_file(path));
  };
  const auto shortlist = [](const std::string& folder) {
    const std::string path = shortlist_of_folder(folder);
    if (path.empty()) return std::string();
    load_shortlist(path, load_model_config(folder));
    return read_regular_file(path);
  };
  for (const auto& entry : fs::directory_iterator(folders.front()))
    if (is_model_tokenizer(entry.path().filename().string())) copy(entry.path());
  const std::string first = shortlist(folders.front());
  const bool has_one = std::all_of(folders.begin() + 1, folders.end(),
                                   [&](const std::string& folder) { return shortlist(folder) == first; });
  if (has_one && !first.empty()) copy(shortlist_of_folder(folders.front()));
}

/// Sets the weights of `model` to the average of those of several models.
void average_weights(const std::vector<std::string>& folders, Transformer& model) {
  std::vector<std::unique_ptr<Transformer>> models;
  for (const std::string& folder : folders)
    models.push_back(load_model(folder, make_backend({.device = "reference"}), DType::f32, WeightType::fp32));
  std::vector<Parameter> averaged = model.stored();
  for (size_t p = 0; p < averaged.size(); ++p) {
    Parameter& parameter = averaged[p];
    std::vector<double> mean(static_cast<size_t>(parameter.tensor.size()));
    for (const auto& one : models) {
      const std::vector<float> values = one->stored()[p].tensor.to_floats(*one->backend());
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += values[i];
    }
    for (double& value : mean) value /= static_cast<double>(models.size());
    parameter.tensor.copy_from(*model.backend(), mean);
  }
}

}  // namespace

void average_models(const std::vector<std::string>& folders, const std::string& output) {
  require(!folders.empty(), "nothing to average; name at least one model");
  require_new_or_model(output, folders);
  ModelConfig config = load_model_config(folders.front());
  config.drop_fitted_settings();
  for (const std::string& folder : folders)
    require_same_architecture(config, load_model_config(folder), folders.front(), folder);
  Transformer model(config, make_backend({.device = "reference"}), DType::f32, std::nullopt);
  average_weights(folders, model);
  AtomicDirectory folder(output, is_model_file);
  save_model(model, folder.path());
  copy_tokenizers(folders, folder.path());
  nlohmann::ordered_json step{{"step", "average"}, {"models", folders.size()}};
  for (const std::string& averaged : folders) step["weights"].push_back(hash_of_weights_file(averaged));
  write_provenance(folder.path(), read_provenance(folders.front()), step.dump());
  folder.commit();
}

void quantize_model(const std::string& folder, const std::string& output, WeightType type) {
  require_new_or_model(output, {folder});
  require(!is_quantized_model(folder), "{}: is already quantized; use the model that it was made from", folder);
  const auto model = load_model(folder, make_backend({.device = "reference"}), DType::f32, type);
  AtomicDirectory target(output, is_model_file);
  save_model(*model, target.path());
  copy_tokenizers({folder}, target.path());
  write_provenance(target.path(), read_provenance(folder),
                   fmt::format(R"({{"step": "quantize", "type": "{}"}})", name_of_enum(type)));
  target.commit();
}

void copy_with_settings(const std::string& folder, const OptionNode& settings, const std::string& output,
                        const std::string& step) {
  require_new_or_model(output, {folder});
  require_model_folder(folder);
  ModelConfig config = load_config(fs::path(folder) / "config.json");
  config.settings = settings;
  AtomicDirectory target(output, is_model_file);
  save_config(fs::path(target.path()) / "config.json", config);
  const fs::path weights = fs::path(folder) / "model.safetensors";
  std::error_code failure;
  fs::copy_file(weights, fs::path(target.path()) / weights.filename(), failure);
  require(!failure, "{}: can't be copied to {}: {}", weights.string(), output, failure.message());
  copy_tokenizers({folder}, target.path());
  write_provenance(target.path(), read_provenance(folder), step);
  target.commit();
}

}  // namespace sixfold
