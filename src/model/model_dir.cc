#include "model/model_dir.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "formats/safetensors.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

std::string config_path(const std::string& folder) { return fs::path(folder) / "config.json"; }
std::string weights_path(const std::string& folder) { return fs::path(folder) / "model.safetensors"; }

/// Opens a file of tensors and checks that they are those wanted, by name.
SafetensorsFile open_parameters(const std::string& path, const std::vector<Parameter>& parameters) {
  SafetensorsFile file = SafetensorsFile::open(path);
  std::set<std::string> wanted;
  for (const Parameter& parameter : parameters) {
    file.at(parameter.name);
    wanted.insert(parameter.name);
  }
  for (const std::string& name : file.names())
    require(wanted.contains(name),
            "{}: tensor '{}' is none of this model's; do config and weights belong together?", path, name);
  return file;
}

std::vector<float> values_of(const SafetensorsFile& file, const Parameter& parameter) {
  const TensorInfo& tensor = file.at(parameter.name);
  require(tensor.shape == parameter.shape,
          "{}: tensor '{}' has the shape [{}], the model's config asks for [{}]", file.path(), parameter.name,
          join(tensor.shape), join(parameter.shape));
  const bool numbers = tensor.dtype == DType::f32 || tensor.dtype == DType::f64 || tensor.dtype == DType::f16 ||
                       tensor.dtype == DType::bf16;
  require(numbers, "{}: tensor '{}' is of type {}; weights are F32, F64, F16 or BF16", file.path(),
          parameter.name, name_of(tensor.dtype));
  std::vector<float> values = to_floats(tensor);
  const auto bad = std::find_if_not(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
  if (bad != values.end())
    throw_input_error(
        "{}: tensor '{}' holds {} at place {}; the weights are damaged, or their training diverged",
        file.path(), parameter.name, *bad, bad - values.begin());
  return values;
}

/// Throws unless both models have the same architecture and vocabularies; dropout and the rules of search may
/// differ.
void require_alike(ModelConfig a, ModelConfig b, const std::string& folder_a, const std::string& folder_b) {
  for (ModelConfig* config : {&a, &b}) {
    config->dropout = config->attention_dropout = config->activation_dropout = 0;
    config->search = {};
  }
  const OptionNode left = write_options(a), right = write_options(b);
  for (size_t i = 0; i < left.children.size(); ++i) {
    const auto& [key, value] = left.children[i];
    const OptionNode& other = right.children[i].second;
    require(value.text == other.text, "{} and {} can't be averaged: {} is {} in the one and {} in the other",
            folder_a, folder_b, key, value.text, other.text);
  }
}

void copy_tokenizers(const std::string& from, const std::string& to) {
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path& path = entry.path();
    if (path.extension() == ".spm" || path.extension() == ".vocab")
      write_file_atomically(fs::path(to) / path.filename(), read_file(path));
  }
}

}  // namespace

ModelConfig load_model_config(const std::string& folder) {
  std::error_code ignored;
  require(fs::is_regular_file(config_path(folder), ignored),
          "{}: is no model folder; one holds config.json, model.safetensors and its tokenizer", folder);
  return load_config(config_path(folder));
}

void save_model(const Transformer& model, const std::string& folder) {
  save_config(config_path(folder), model.config());
  write_parameters(weights_path(folder), model.parameters(), *model.backend());
}

std::unique_ptr<Transformer> load_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                        DType dtype) {
  auto model =
      std::make_unique<Transformer>(load_model_config(folder), std::move(backend), dtype, std::nullopt);
  load_weights(weights_path(folder), *model);
  return model;
}

void load_weights(const std::string& path, const Transformer& model) {
  read_parameters(path, model.parameters(), *model.backend());
}

void write_parameters(const std::string& path, const std::vector<Parameter>& parameters, Backend& backend) {
  std::vector<std::vector<float>> values;
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : parameters) {
    values.push_back(parameter.tensor.to_floats(backend));
    tensors.push_back({parameter.name, DType::f32, parameter.shape, values.back().data()});
  }
  write_safetensors(path, tensors);
}

void read_parameters(const std::string& path, const std::vector<Parameter>& parameters, Backend& backend) {
  const SafetensorsFile file = open_parameters(path, parameters);
  for (const Parameter& parameter : parameters) parameter.tensor.copy_from(backend, values_of(file, parameter));
}

void average_models(const std::vector<std::string>& folders, const std::string& output) {
  require(!folders.empty(), "the mean of no models is asked for; name at least one");
  const ModelConfig config = load_model_config(folders.front());
  const Transformer model(config, make_reference_backend(), DType::f32, std::nullopt);
  std::vector<SafetensorsFile> files;
  for (const std::string& folder : folders) {
    require_alike(config, load_model_config(folder), folders.front(), folder);
    files.push_back(open_parameters(weights_path(folder), model.parameters()));
  }
  for (const Parameter& parameter : model.parameters()) {
    std::vector<double> mean(static_cast<size_t>(parameter.tensor.size()));
    for (const SafetensorsFile& file : files) {
      const std::vector<float> values = values_of(file, parameter);
      for (size_t i = 0; i < mean.size(); ++i) mean[i] += values[i];
    }
    for (double& value : mean) value /= static_cast<double>(files.size());
    parameter.tensor.copy_from(*model.backend(), mean);
  }
  AtomicDirectory folder(output);
  save_model(model, folder.path());
  copy_tokenizers(folders.front(), folder.path());
  folder.commit();
}

}  // namespace sixfold
