#include "model_folder/model_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include "base/bf16.h"
#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "model/int8.h"
#include "model_folder/config_file.h"
#include "model_folder/folder_weights.h"
#include "model_folder/ownership.h"
#include "model_folder/require_model_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

std::vector<NamedShape> shapes_of(std::span<const Parameter> parameters) {
  std::vector<NamedShape> shapes;
  for (const Parameter& parameter : parameters) shapes.push_back({parameter.name, parameter.shape});
  return shapes;
}

/// The elements of a mapped tensor, or none if it has another type or is not aligned.
template <class T>
std::span<T> elements(const TensorInfo& tensor, DType dtype) {
  if (tensor.dtype != dtype || reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignof(T) != 0) return {};
  auto* first = reinterpret_cast<T*>(const_cast<std::byte*>(tensor.bytes.data()));
  return {first, tensor.bytes.size() / sizeof(T)};
}

/// Owns the elements of a borrowed tensor.
struct BorrowedWeight {
  std::shared_ptr<const SafetensorsFile> file;
  Int8Matrix rounded;  ///< not of elements that are used in the file
};

/// Sets a parameter to elements and scales in host memory (View::scales), which `owner` keeps alive. They are
/// used without a copy if the backend's memory is host memory.
void set_quantized(Parameter& parameter, const std::shared_ptr<Backend>& backend,
                   std::shared_ptr<BorrowedWeight> owner, std::span<const int8_t> data) {
  const int64_t rows = parameter.tensor.rows(), cols = parameter.tensor.cols();
  const std::span<const float> scales = owner->rounded.scales;
  if (backend->is_host())
    return parameter.tensor.borrow(
        {const_cast<int8_t*>(data.data()), DType::i8, rows, cols, cols, {scales.data(), std::ssize(scales)}},
        std::move(owner));
  const auto memory = lasting_memory(backend);
  const Tensor elements(memory, rows, cols, DType::i8), all_scales(memory, 1, std::ssize(scales), DType::f32);
  backend->upload(elements.view().data, std::as_bytes(data));
  backend->upload(all_scales.view().data, std::as_bytes(scales));
  const auto matrix = std::make_shared<const Tensor>(Tensor::of_int8(elements, all_scales));
  parameter.tensor.borrow(matrix->view(), matrix);
}

/// The type of a parameter in a model of weights of this type: fewer bits only where the parameter can have
/// them.
WeightType type_of(const Parameter& parameter, WeightType type) {
  if (type == WeightType::int4 && parameter.can_be_int4()) return WeightType::int4;
  if (type == WeightType::int4 || type == WeightType::int8)
    return parameter.can_be_int8() ? WeightType::int8 : WeightType::stored;
  return type;
}

/// Uses a matrix that is in int8 or in 4 bits in the file.
void map_quantized(const std::shared_ptr<const SafetensorsFile>& file, Parameter& parameter,
                   const std::shared_ptr<Backend>& backend, WeightType type) {
  const TensorInfo& tensor = file->at(parameter.name);
  const bool four_bits = tensor.dtype == DType::u8;
  const std::string name = scales_of(parameter.name), type_name = four_bits ? "4 bits" : "int8";
  require(four_bits ? parameter.can_be_int4() : parameter.can_be_int8(),
          "{}: tensor '{}' is in {}, which is allowed only for matrices{}", file->path(), parameter.name,
          type_name, four_bits ? " of linear maps" : "");
  const WeightType asked = type_of(parameter, type);
  require(asked == WeightType::stored || asked == (four_bits ? WeightType::int4 : WeightType::int8),
          "{}: tensor '{}' is in {}; use the model that it was made from", file->path(), parameter.name,
          type_name);
  auto owner = std::make_shared<BorrowedWeight>(BorrowedWeight{file, {{}, values_of(*file, name)}});
  const std::vector<float>& scales = owner->rounded.scales;
  const int64_t rows = parameter.tensor.rows(), cols = parameter.tensor.cols();
  if (!four_bits) {
    require(std::ssize(scales) == rows && std::ranges::all_of(scales, [](float scale) { return scale >= 0; }),
            "{}: tensor '{}' must have one scale, at least 0, for each of the {} rows of '{}'", file->path(),
            name, rows, parameter.name);
    return set_quantized(parameter, backend, owner, elements<int8_t>(tensor, DType::i8));
  }
  constexpr int64_t group = columns_of_group(4);
  const std::vector<int64_t> shape{rows, (cols + group - 1) / group, 2};
  require(file->at(name).dtype == DType::bf16 && file->at(name).shape == shape,
          "{}: tensor '{}' must be BF16 [{}], a scale and an offset for each {} columns of the {} rows of '{}'",
          file->path(), name, join(shape), group, rows, parameter.name);
  owner->rounded.data = unpack_halves(elements<uint8_t>(tensor, DType::u8), cols);
  const std::span<const int8_t> numbers = owner->rounded.data;
  set_quantized(parameter, backend, std::move(owner), numbers);
}

/// Copies values into a parameter, quantized if `type` asks for it and the parameter can be quantized.
void set_values(Parameter& parameter, const std::vector<float>& values, const std::shared_ptr<Backend>& backend,
                WeightType type) {
  const int64_t cols = parameter.tensor.cols();
  const WeightType own = type_of(parameter, type);
  if (own != WeightType::int8 && own != WeightType::int4) return parameter.tensor.copy_from(*backend, values);
  auto owner = std::make_shared<BorrowedWeight>();
  owner->rounded = own == WeightType::int4 ? round_to_int4(values, cols) : round_to_int8(values, cols);
  const std::span<const int8_t> numbers = owner->rounded.data;
  set_quantized(parameter, backend, std::move(owner), numbers);
}

void map_parameter(const std::shared_ptr<const SafetensorsFile>& file, Parameter& parameter,
                   const std::shared_ptr<Backend>& backend, WeightType type) {
  const TensorInfo& tensor = file->at(parameter.name);
  if (is_quantized(tensor.dtype) && type != WeightType::fp32)
    return map_quantized(file, parameter, backend, type);
  const auto values = elements<float>(tensor, parameter.tensor.dtype());
  const WeightType own = type_of(parameter, type);
  if (values.empty() || !backend->is_host() || own == WeightType::int8 || own == WeightType::int4)
    return set_values(parameter, values_of(*file, parameter.name), backend, type);
  check_finite(*file, parameter.name, values);
  View view = parameter.tensor.view();
  view.data = values.data();
  parameter.tensor.borrow(view, file);
}

/// The tensors that are stored for a model with separate adapters: those that its base does not have, and those
/// that are trained.
std::vector<Parameter> tensors_without_base(const Transformer& model, const FolderWeights& base) {
  std::vector<Parameter> tensors;
  for (const Parameter& parameter : model.stored()) {
    const std::vector<int64_t>* const base_shape = base.find(parameter.name);
    const bool trained = parameter.adapter || parameter.part == ModelPart::head ||
                         std::ranges::count(model.config().adapters.trained, parameter.name) > 0;
    if (trained || !base_shape || *base_shape != parameter.shape) tensors.push_back(parameter);
  }
  return tensors;
}

/// Merges the adapters of a model into copies of the weights that they change.
std::vector<Parameter> with_merged_adapters(const Transformer& model) {
  Backend& backend = *model.backend();
  std::map<std::string, const Parameter*> adapters;
  for (const Parameter& parameter : model.parameters())
    if (parameter.adapter) adapters[parameter.name] = &parameter;
  std::vector<Parameter> weights;
  for (Parameter& parameter : model.stored()) {
    if (parameter.adapter) continue;
    weights.push_back(parameter);
    const auto down = adapters.find(adapter_down(parameter.name));
    if (down == adapters.end()) continue;
    const Parameter& up = *adapters.at(adapter_up(parameter.name));
    std::vector<float> values = parameter.tensor.to_floats(backend);
    merge_adapter(values, down->second->tensor.to_floats(backend), up.tensor.to_floats(backend),
                  model.config().adapters.rank, model.config().adapters.scale());
    Tensor& copy = weights.back().tensor;
    copy = Tensor(lasting_memory(model.backend()), copy.rows(), copy.cols(), copy.dtype());
    copy.copy_from(backend, values);
  }
  return weights;
}

void require_base(const std::string& folder, const std::string& checksum, const std::string& expected) {
  require(expected.empty() || checksum == expected,
          "{}: is not the model for which the adapters are trained; its weights differ; restore it", folder);
}

}  // namespace

std::string weights_checksum(const std::string& folder) {
  return FolderWeights(folder, /*base_depth=*/1).checksum();
}

void require_base(const std::string& folder, const std::string& expected) {
  require_base(folder, weights_checksum(folder), expected);
}

void write_model_folder(const std::string& folder, const Transformer& model,
                        const std::function<void(const std::string&)>& add, AdapterStorage storage,
                        const std::string& base) {
  AtomicDirectory directory(folder, is_checkpoint_file);
  save_model(model, directory.path(), storage, base);
  add(directory.path());
  directory.commit();
}

ModelConfig load_model_config(const std::string& folder) {
  require_model_folder(folder);
  ModelConfig config = load_config(config_path(folder));
  config.adapters = {};
  return config;
}

AdapterConfig load_adapters(const std::string& folder) {
  require_model_folder(folder);
  return load_config(config_path(folder)).adapters;
}

void save_model(const Transformer& model, const std::string& folder, AdapterStorage storage,
                const std::string& base) {
  ModelConfig config = model.config();
  std::vector<Parameter> stored = model.stored();
  if (config.adapters.rank > 0 && storage == AdapterStorage::merged) {
    stored = with_merged_adapters(model);
    config.adapters = {};
  } else if (config.adapters.rank > 0 && storage == AdapterStorage::separate) {
    const FolderWeights base_weights(base, /*base_depth=*/1);
    require_base(base, base_weights.checksum(), config.adapters.base_checksum);
    stored = tensors_without_base(model, base_weights);
    config.adapters.base = fs::canonical(base).string();
    config.adapters.base_checksum = base_weights.checksum();
  }
  save_config(config_path(folder), config);
  write_parameters(weights_path(folder), stored, *model.backend());
}

namespace {

/// Releases pages of a folder's weights after every `SafetensorsFile::pages_at_once` bytes that are read.
class PageRelease {
 public:
  explicit PageRelease(const FolderWeights& weights) : weights_(weights) {}
  /// `elements`: of a tensor that was read, of at most four bytes each.
  void add(int64_t elements) {
    read_ += 4 * static_cast<size_t>(elements);
    if (read_ < SafetensorsFile::pages_at_once) return;
    weights_.release_pages();
    read_ = 0;
  }

 private:
  const FolderWeights& weights_;
  size_t read_ = 0;
};

std::unique_ptr<Transformer> open_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                        DType dtype, WeightType type, bool packed) {
  const FolderWeights weights(folder);
  PageRelease release(weights);
  auto model = std::make_unique<Transformer>(weights.config(), std::move(backend), dtype, std::nullopt);
  std::vector<Parameter> stored = model->stored();
  weights.require_exactly(shapes_of(stored));
  for (Parameter& parameter : stored) {
    if (const FolderWeights::File file = weights.file_of(parameter.name))
      map_parameter(file, parameter, model->backend(), type);
    else
      set_values(parameter, weights.values(parameter.name), model->backend(), type);
    if (packed) pack(parameter, *model->backend());
    const bool only_packed = packed && parameter.tensor.dtype() == DType::i8 && parameter.can_be_int4();
    if (only_packed) parameter.tensor.release();
    release.add(parameter.tensor.size());
  }
  if (packed || type == WeightType::int8 || type == WeightType::int4) weights.release_pages();
  return model;
}

}  // namespace

std::unique_ptr<Transformer> load_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                        DType dtype, WeightType type) {
  return open_model(folder, std::move(backend), dtype, type, /*packed=*/false);
}

std::unique_ptr<Transformer> load_packed_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                               WeightType type) {
  return open_model(folder, std::move(backend), DType::f32, type, /*packed=*/true);
}

bool is_quantized_model(const std::string& folder) {
  const auto file = SafetensorsFile::open(weights_path(folder));
  return std::ranges::any_of(file.names(),
                             [&](const std::string& name) { return is_quantized(file.at(name).dtype); });
}

void verify_parameters(const std::string& path) { SafetensorsFile::open(path).verify(); }

void load_weights(const std::string& path, Transformer& model) {
  std::vector<Parameter> stored = model.stored();
  read_parameters(path, stored, *model.backend());
}

void load_folder_weights(const std::string& folder, Transformer& model) {
  const FolderWeights weights(folder);
  std::vector<Parameter> stored = model.stored();
  std::erase_if(stored, [](const Parameter& parameter) { return parameter.adapter; });
  weights.require_exactly(shapes_of(stored));
  for (Parameter& parameter : stored)
    parameter.tensor.copy_from(*model.backend(), weights.values(parameter.name));
}

int64_t load_weights_of_same_shape(const std::string& folder, Transformer& model,
                                   const std::function<bool(const Parameter&)>& selects,
                                   std::vector<std::string>& not_loaded) {
  require(!is_quantized_model(folder),
          "{}: is quantized, which supports only decoding; use the model that it was made from", folder);
  const FolderWeights weights(folder);
  int64_t copied = 0;
  for (Parameter& parameter : model.stored()) {
    if (parameter.adapter) continue;
    const std::vector<int64_t>* const stored_shape = weights.find(parameter.name);
    if (!stored_shape || *stored_shape != parameter.shape || !selects(parameter)) {
      not_loaded.push_back(parameter.name);
      continue;
    }
    parameter.tensor.copy_from(*model.backend(), weights.values(parameter.name));
    ++copied;
  }
  return copied;
}

/// The bytes in bf16 of numbers that bf16 can represent.
static std::vector<uint16_t> upper_halves(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  for (const float value : values) halves.push_back(to_bf16(value));
  return halves;
}

void write_parameters(const std::string& path, std::span<const Parameter> parameters, Backend& backend) {
  std::vector<TensorEntry> entries;
  for (const Parameter& parameter : parameters) {
    const View view = parameter.tensor.view();
    const bool quantized = view.dtype == DType::i8, four_bits = quantized && view.bits() == 4;
    const DType dtype = four_bits ? DType::u8 : quantized ? DType::i8 : DType::f32;
    entries.push_back({parameter.name, dtype, shape_in_file(parameter.shape, dtype)});
    if (four_bits)
      entries.push_back(
          {scales_of(parameter.name), DType::bf16, {view.rows, view.scales.size / view.rows / 2, 2}});
    else if (quantized)
      entries.push_back({scales_of(parameter.name), DType::f32, {view.rows}});
  }
  SafetensorsWriter file(path, entries);
  for (const Parameter& parameter : parameters) {
    const View view = parameter.tensor.view();
    // Tensors are copied one at a time; a copy of all of them would double the memory.
    if (view.dtype != DType::i8) {
      file.add(parameter.tensor.to_floats(backend).data());
      continue;
    }
    const std::vector<int8_t> numbers = parameter.tensor.to_host<int8_t>(backend);
    const std::vector<float> scales = download(backend, view.scales);
    if (view.bits() == 8) {
      file.add(numbers.data());
      file.add(scales.data());
    } else {
      file.add(pack_halves(numbers, view.cols).data());
      file.add(upper_halves(scales).data());
    }
  }
  file.commit();
}

void read_parameters(const std::string& path, std::span<Parameter> parameters, Backend& backend) {
  read_values(path, shapes_of(parameters), [&](size_t i, const std::vector<float>& values) {
    parameters[i].tensor.copy_from(backend, values);
  });
}

void write_values(const std::string& path, std::span<const NamedShape> tensors,
                  const std::function<std::vector<float>(size_t)>& values) {
  std::vector<TensorEntry> entries;
  for (const NamedShape& tensor : tensors) entries.push_back({tensor.name, DType::f32, tensor.shape});
  SafetensorsWriter file(path, entries);
  for (size_t i = 0; i < tensors.size(); ++i) file.add(values(i).data());
  file.commit();
}

void read_values(const std::string& path, std::span<const NamedShape> tensors,
                 const std::function<void(size_t, const std::vector<float>&)>& use) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  file.verify();
  require_tensors(file, tensors);
  for (size_t i = 0; i < tensors.size(); ++i) use(i, values_of(file, tensors[i].name));
}

}  // namespace sixfold
