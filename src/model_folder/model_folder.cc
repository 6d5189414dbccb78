#include "model_folder/model_folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "formats/safetensors.h"
#include "model/int8.h"
#include "model_folder/config_file.h"
#include "model_folder/ownership.h"
#include "model_folder/what_is.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

std::string config_path(const std::string& folder) { return fs::path(folder) / "config.json"; }
std::string weights_path(const std::string& folder) { return fs::path(folder) / "model.safetensors"; }

/// Opens a file of tensors and checks that it has exactly those of `parameters`. Tensors in int8 also have
/// scales.
std::shared_ptr<const SafetensorsFile> open_parameters(const std::string& path,
                                                       std::span<const NamedShape> parameters) {
  auto file = std::make_shared<const SafetensorsFile>(SafetensorsFile::open(path));
  file->verify();
  std::set<std::string> wanted;
  for (const NamedShape& parameter : parameters) {
    const TensorInfo& tensor = file->at(parameter.name);
    require(tensor.shape == parameter.shape,
            "{}: tensor '{}' has the shape [{}], but the model's config needs [{}]", path, parameter.name,
            join(tensor.shape), join(parameter.shape));
    wanted.insert(parameter.name);
    if (tensor.dtype == DType::i8) wanted.insert(scales_of(parameter.name));
  }
  for (const std::string& name : file->names())
    require(wanted.contains(name),
            "{}: tensor '{}' does not belong to this model; copy config and weights from the same model", path,
            name);
  return file;
}

std::vector<NamedShape> shapes_of(std::span<const Parameter> parameters) {
  std::vector<NamedShape> shapes;
  for (const Parameter& parameter : parameters) shapes.push_back({parameter.name, parameter.shape});
  return shapes;
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
  require(tensor.dtype != DType::i8,
          "{}: tensor '{}' is in int8, which supports only decoding; use the model that it was made from",
          file.path(), name);
  const bool numbers = tensor.dtype == DType::f32 || tensor.dtype == DType::f64 || tensor.dtype == DType::f16 ||
                       tensor.dtype == DType::bf16;
  require(numbers, "{}: tensor '{}' is of type {}; weights must be F32, F64, F16 or BF16, or I8 with scales",
          file.path(), name, name_of(tensor.dtype));
  std::vector<float> values = to_floats(tensor);
  check_finite(file, name, values);
  return values;
}

/// The elements of a mapped tensor, or none if it has another type or is not aligned.
template <class T>
std::span<T> elements(const TensorInfo& tensor, DType dtype) {
  if (tensor.dtype != dtype || reinterpret_cast<uintptr_t>(tensor.bytes.data()) % alignof(T) != 0) return {};
  auto* first = reinterpret_cast<T*>(const_cast<std::byte*>(tensor.bytes.data()));
  return {first, tensor.bytes.size() / sizeof(T)};
}

/// Owns the elements of a borrowed tensor.
struct BorrowedInt8 {
  std::shared_ptr<const SafetensorsFile> file;
  Int8Matrix rounded;
  std::vector<float> scales;
};

/// Sets a parameter to elements and scales in host memory, which `owner` keeps alive. They are used without a
/// copy if the backend's memory is host memory.
void set_int8(Parameter& parameter, const std::shared_ptr<Backend>& backend,
              std::shared_ptr<BorrowedInt8> owner, std::span<const int8_t> data,
              std::span<const float> scales) {
  const int64_t rows = parameter.tensor.rows(), cols = parameter.tensor.cols();
  if (backend->is_host())
    return parameter.tensor.borrow(
        {const_cast<int8_t*>(data.data()), DType::i8, rows, cols, cols, {scales.data(), rows}},
        std::move(owner));
  const auto memory = lasting_memory(backend);
  const Tensor elements(memory, rows, cols, DType::i8), row_scales(memory, 1, rows, DType::f32);
  backend->upload(elements.view().data, std::as_bytes(data));
  backend->upload(row_scales.view().data, std::as_bytes(scales));
  const auto matrix = std::make_shared<const Tensor>(Tensor::of_int8(elements, row_scales));
  parameter.tensor.borrow(matrix->view(), matrix);
}

/// Uses a matrix that is in int8 in the file.
void map_int8(const std::shared_ptr<const SafetensorsFile>& file, Parameter& parameter,
              const std::shared_ptr<Backend>& backend) {
  const std::string name = scales_of(parameter.name);
  auto owner = std::make_shared<BorrowedInt8>(BorrowedInt8{file, {}, values_of(*file, name)});
  require(parameter.can_be_int8(), "{}: tensor '{}' is in int8, which is allowed only for matrices",
          file->path(), parameter.name);
  require(std::ssize(owner->scales) == parameter.tensor.rows() &&
              std::all_of(owner->scales.begin(), owner->scales.end(), [](float scale) { return scale >= 0; }),
          "{}: tensor '{}' must have one scale, at least 0, for each of the {} rows of '{}'", file->path(),
          name, parameter.tensor.rows(), parameter.name);
  const std::span<const float> scales = owner->scales;
  set_int8(parameter, backend, std::move(owner), elements<int8_t>(file->at(parameter.name), DType::i8), scales);
}

void map_parameter(const std::shared_ptr<const SafetensorsFile>& file, Parameter& parameter,
                   const std::shared_ptr<Backend>& backend, WeightType type) {
  const TensorInfo& tensor = file->at(parameter.name);
  if (tensor.dtype == DType::i8 && type != WeightType::fp32) return map_int8(file, parameter, backend);
  if (type == WeightType::int8 && parameter.can_be_int8()) {
    auto owner = std::make_shared<BorrowedInt8>();
    owner->rounded = round_to_int8(values_of(*file, parameter.name), parameter.tensor.cols());
    const Int8Matrix& rounded = owner->rounded;
    return set_int8(parameter, backend, owner, rounded.data, rounded.scales);
  }
  const auto values = elements<float>(tensor, parameter.tensor.dtype());
  if (values.empty() || !backend->is_host())
    return parameter.tensor.copy_from(*backend, values_of(*file, parameter.name));
  check_finite(*file, parameter.name, values);
  View view = parameter.tensor.view();
  view.data = values.data();
  parameter.tensor.borrow(view, file);
}

}  // namespace

void write_model_folder(const std::string& folder, const Transformer& model,
                        const std::function<void(const std::string&)>& add) {
  AtomicDirectory directory(folder, is_checkpoint_file);
  save_model(model, directory.path());
  add(directory.path());
  directory.commit();
}

ModelConfig load_model_config(const std::string& folder) {
  require_model_folder(folder);
  return load_config(config_path(folder));
}

void save_model(const Transformer& model, const std::string& folder) {
  save_config(config_path(folder), model.config());
  write_parameters(weights_path(folder), model.stored(), *model.backend());
}

namespace {

struct Opened {
  std::unique_ptr<Transformer> model;
  std::shared_ptr<const SafetensorsFile> file;
};

Opened open_model(const std::string& folder, std::shared_ptr<Backend> backend, DType dtype, WeightType type) {
  auto model =
      std::make_unique<Transformer>(load_model_config(folder), std::move(backend), dtype, std::nullopt);
  std::vector<Parameter> stored = model->stored();
  const auto file = open_parameters(weights_path(folder), shapes_of(stored));
  for (Parameter& parameter : stored) map_parameter(file, parameter, model->backend(), type);
  if (type == WeightType::int8) file->let_go_pages();  // the fp32 weights, which have been quantized
  return {std::move(model), file};
}

}  // namespace

std::unique_ptr<Transformer> load_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                        DType dtype, WeightType type) {
  return open_model(folder, std::move(backend), dtype, type).model;
}

std::unique_ptr<Transformer> load_packed_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                               WeightType type) {
  Opened opened = open_model(folder, std::move(backend), DType::f32, type);
  opened.model->pack();
  opened.file->let_go_pages();
  return std::move(opened.model);
}

bool holds_int8(const std::string& folder) {
  const auto file = SafetensorsFile::open(weights_path(folder));
  return std::any_of(file.names().begin(), file.names().end(),
                     [&](const std::string& name) { return file.at(name).dtype == DType::i8; });
}

void verify_parameters(const std::string& path) { SafetensorsFile::open(path).verify(); }

void load_weights(const std::string& path, Transformer& model) {
  std::vector<Parameter> stored = model.stored();
  read_parameters(path, stored, *model.backend());
}

int64_t load_weights_of_same_shape(const std::string& path, Transformer& model,
                                   const std::function<bool(const Parameter&)>& wanted,
                                   std::vector<std::string>& others) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  file.verify();
  int64_t copied = 0;
  for (Parameter& parameter : model.stored()) {
    const bool known = std::ranges::count(file.names(), parameter.name) > 0;
    if (!known || file.at(parameter.name).shape != parameter.shape || !wanted(parameter)) {
      others.push_back(parameter.name);
      continue;
    }
    parameter.tensor.copy_from(*model.backend(), values_of(file, parameter.name));
    ++copied;
  }
  return copied;
}

void write_parameters(const std::string& path, std::span<const Parameter> parameters, Backend& backend) {
  std::vector<TensorEntry> entries;
  for (const Parameter& parameter : parameters) {
    const View view = parameter.tensor.view();
    const bool int8 = view.dtype == DType::i8;
    entries.push_back({parameter.name, int8 ? DType::i8 : DType::f32, parameter.shape});
    if (int8) entries.push_back({scales_of(parameter.name), DType::f32, {view.rows}});
  }
  SafetensorsWriter file(path, entries);
  for (const Parameter& parameter : parameters) {
    const View view = parameter.tensor.view();
    // Tensors are copied one at a time; a copy of all of them would double the memory.
    if (view.dtype != DType::i8) {
      file.add(parameter.tensor.to_floats(backend).data());
    } else {
      file.add(parameter.tensor.to_host<int8_t>(backend).data());
      file.add(download(backend, view.scales).data());
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
  const auto file = open_parameters(path, tensors);
  for (size_t i = 0; i < tensors.size(); ++i) use(i, values_of(*file, tensors[i].name));
}

}  // namespace sixfold
