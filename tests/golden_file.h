#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/safetensors.h"
#include "op_cases.h"

namespace sixfold {

/// The elements of a tensor of type F32, F64 or I32.
inline std::vector<double> doubles_of(const TensorInfo& tensor) {
  const auto read = [&]<class T>(T) {
    std::vector<T> elements(tensor.bytes.size() / sizeof(T));
    std::memcpy(elements.data(), tensor.bytes.data(), elements.size() * sizeof(T));
    return std::vector<double>(elements.begin(), elements.end());
  };
  switch (tensor.dtype) {
    case DType::f32:
      return read(float{});
    case DType::f64:
      return read(double{});
    case DType::i32:
      return read(int32_t{});
    default:
      throw_input_error("a golden tensor of type {}", name_of(tensor.dtype));
  }
}

/// A file of golden tensors of tests/goldens.
class GoldenFile {
 public:
  explicit GoldenFile(const std::string& name)
      : file_(SafetensorsFile::open(SIXFOLD_TEST_GOLDENS "/" + name + ".safetensors")) {}

  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  const std::vector<std::string>& names() const { return file_.names(); }

  /// A vector is a matrix of one row.
  HostMatrix matrix(const std::string& name) const {
    const TensorInfo& tensor = file_.at(name);
    return {tensor.shape.size() == 2 ? tensor.shape[0] : 1, tensor.shape.back(), doubles_of(tensor)};
  }
  double number(const std::string& name) const { return doubles_of(file_.at(name)).at(0); }
  std::vector<int32_t> ids(const std::string& name) const {
    const auto values = doubles_of(file_.at(name));
    return {values.begin(), values.end()};
  }
  Ragged ragged(const std::string& name) const {
    Ragged ragged;
    ragged.offsets = ids(name);
    return ragged;
  }

 private:
  SafetensorsFile file_;
};

}  // namespace sixfold
