#include "model_folder/folder_weights.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/join.h"
#include "model/int8.h"
#include "model_folder/config_file.h"
#include "model_folder/require_model_folder.h"

namespace sixfold {
namespace {

constexpr std::string_view weight_suffix = ".weight";

/// The name of the linear map of a weight: the name without ".weight"; empty if it does not end so.
std::string linear_map_of(const std::string& weight) {
  return weight.ends_with(weight_suffix) ? weight.substr(0, weight.size() - weight_suffix.size()) : "";
}

void require_no_others(const SafetensorsFile& file, const std::set<std::string>& expected) {
  for (const std::string& name : file.names())
    require(expected.contains(name),
            "{}: tensor '{}' does not belong to this model; copy config and weights from the same model",
            file.path(), name);
}

ModelConfig load_folder_config(const std::string& folder) {
  require_model_folder(folder);
  return load_config(config_path(folder));
}

}  // namespace

bool is_quantized(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

std::vector<int64_t> shape_in_file(std::vector<int64_t> shape, DType dtype) {
  if (dtype == DType::u8 && !shape.empty()) shape.back() = (shape.back() + 1) / 2;
  return shape;
}

void require_tensors(const SafetensorsFile& file, std::span<const NamedShape> parameters) {
  std::set<std::string> expected;
  for (const NamedShape& parameter : parameters) {
    const TensorInfo& tensor = file.at(parameter.name);
    const std::vector<int64_t> shape = shape_in_file(parameter.shape, tensor.dtype);
    require(tensor.shape == shape, "{}: tensor '{}' has the shape [{}], but the model's config needs [{}]",
            file.path(), parameter.name, join(tensor.shape), join(shape));
    expected.insert(parameter.name);
    if (is_quantized(tensor.dtype)) expected.insert(scales_of(parameter.name));
  }
  require_no_others(file, expected);
}

void check_finite(const SafetensorsFile& file, const std::string& name, std::span<const float> values) {
  const auto bad = std::find_if_not(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
  if (bad != values.end())
    throw_input_error(
        "{}: tensor '{}' has the value {} at index {}; the weights are damaged, or their training diverged",
        file.path(), name, *bad, bad - values.begin());
}

std::vector<float> values_of(const SafetensorsFile& file, const std::string& name) {
  const TensorInfo& tensor = file.at(name);
  require(!is_quantized(tensor.dtype),
          "{}: tensor '{}' is in {}, which supports only decoding; use the model that it was made from",
          file.path(), name, tensor.dtype == DType::i8 ? "int8" : "4 bits");
  const bool is_float = tensor.dtype == DType::f32 || tensor.dtype == DType::f64 ||
                        tensor.dtype == DType::f16 || tensor.dtype == DType::bf16;
  require(is_float,
          "{}: tensor '{}' is of type {}; weights must be F32, F64, F16 or BF16, or I8 or U8 with scales",
          file.path(), name, name_of(tensor.dtype));
  std::vector<float> values = to_floats(tensor);
  check_finite(file, name, values);
  return values;
}

std::string adapter_down(const std::string& weight) { return linear_map_of(weight) + ".lora_A.weight"; }
std::string adapter_up(const std::string& weight) { return linear_map_of(weight) + ".lora_B.weight"; }

void merge_adapter(std::span<float> weight, std::span<const float> down, std::span<const float> up,
                   int64_t rank, double scale) {
  const size_t ranks = static_cast<size_t>(rank), in = down.size() / ranks, out = up.size() / ranks;
  for (size_t row = 0; row < out; ++row)
    for (size_t r = 0; r < ranks; ++r) {
      const float factor = static_cast<float>(scale) * up[row * ranks + r];
      for (size_t col = 0; col < in; ++col) weight[row * in + col] += factor * down[r * in + col];
    }
}

FolderWeights::FolderWeights(const std::string& folder, int base_depth)
    : config_(load_folder_config(folder)),
      adapters_(std::exchange(config_.adapters, {})),
      file_(std::make_shared<const SafetensorsFile>(SafetensorsFile::open(weights_path(folder)))) {
  file_->verify();
  if (adapters_.base.empty()) return;
  const std::string config = config_path(folder);
  require(base_depth < 8, "{}: adapters.base: a chain of more than 8 folders", config);
  require(std::filesystem::is_directory(adapters_.base),
          "{}: adapters.base: there is no folder {}, which has the weights that the adapters change; restore "
          "it, or write where it is now",
          config, adapters_.base);
  require(!is_quantized_model(adapters_.base),
          "{}: adapters.base: {} is quantized; adapters change the weights that it was made from", config,
          adapters_.base);
  base_ = std::make_unique<const FolderWeights>(adapters_.base, base_depth + 1);
  require(base_->checksum() == adapters_.base_checksum,
          "{}: adapters.base: {} is not the model that the adapters were trained for; its weights differ",
          config, adapters_.base);
}

std::string FolderWeights::checksum() const {
  const std::string stored = file_->checksum();
  return stored.empty() ? file_->computed_checksum() : stored;
}

bool FolderWeights::has_adapter(const std::string& name) const {
  return adapters_.rank > 0 && file_->find(adapter_down(name));
}

FolderWeights::File FolderWeights::file_of(const std::string& name) const {
  if (has_adapter(name)) return nullptr;
  if (file_->find(name)) return file_;
  return base_ ? base_->file_of(name) : nullptr;
}

const std::vector<int64_t>* FolderWeights::find(const std::string& name) const {
  if (const TensorInfo* tensor = file_->find(name)) return &tensor->shape;
  return base_ ? base_->find(name) : nullptr;
}

std::vector<float> FolderWeights::values(const std::string& name) const {
  std::vector<float> values = base_ && !file_->find(name) ? base_->values(name) : values_of(*file_, name);
  if (!has_adapter(name)) return values;
  const std::string down = adapter_down(name), up = adapter_up(name);
  const auto &down_shape = file_->at(down).shape, &up_shape = file_->at(up).shape;
  const std::vector<int64_t>& shape = *find(name);
  const std::vector<int64_t> expected_down{adapters_.rank, shape.back()},
      expected_up{shape.front(), adapters_.rank};
  require(shape.size() == 2 && down_shape == expected_down && up_shape == expected_up,
          "{}: the adapter of '{}' has the shapes [{}] and [{}], but its config needs [{}] and [{}]",
          file_->path(), name, join(down_shape), join(up_shape), join(expected_down), join(expected_up));
  merge_adapter(values, values_of(*file_, down), values_of(*file_, up), adapters_.rank, adapters_.scale());
  return values;
}

void FolderWeights::require_exactly(std::span<const NamedShape> parameters) const {
  if (adapters_.rank == 0) return require_tensors(*file_, parameters);
  std::set<std::string> expected;
  for (const auto& [name, shape] : parameters) {
    const std::vector<int64_t>* const found = find(name);
    require(found && *found == shape, "{}: tensor '{}' {}, but the model's config needs [{}]", file_->path(),
            name, found ? fmt::format("has the shape [{}]", join(*found)) : "is missing", join(shape));
    expected.insert(name);
    if (has_adapter(name)) expected.insert({adapter_down(name), adapter_up(name)});
  }
  require_no_others(*file_, expected);
}

void FolderWeights::release_pages() const {
  file_->release_pages();
  if (base_) base_->release_pages();
}

}  // namespace sixfold
