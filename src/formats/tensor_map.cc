#include "formats/tensor_map.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/bf16.h"
#include "base/error.h"
#include "base/nearest.h"

namespace sixfold {
namespace {

/// Converts elements of type `Stored`, which need not be aligned, to floats.
template <class Stored, class Convert>
std::vector<float> convert_all(std::span<const std::byte> bytes, Convert convert) {
  std::vector<float> values(bytes.size() / sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof stored, sizeof stored);
    values[i] = convert(stored);
  }
  return values;
}

}  // namespace

float float_of_half(uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const float sign = half & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? std::numeric_limits<float>::quiet_NaN() : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

std::optional<uint64_t> tensor_bytes(DType dtype, const std::vector<int64_t>& shape) {
  uint64_t bytes = size_of(dtype);
  for (const int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) return std::nullopt;
  return bytes;
}

std::vector<float> to_floats(const TensorInfo& tensor) {
  if (tensor.decode) return tensor.decode(tensor);
  switch (tensor.dtype) {
    case DType::f32:
      return convert_all<float>(tensor.bytes, [](float value) { return value; });
    case DType::f64:
      return convert_all<double>(tensor.bytes, [](double value) { return static_cast<float>(value); });
    case DType::f16:
      return convert_all<uint16_t>(tensor.bytes, float_of_half);
    case DType::bf16:
      return convert_all<uint16_t>(tensor.bytes, from_bf16);
    case DType::i64:
    case DType::i32:
    case DType::i8:
    case DType::u8:
      throw_input_error("a tensor of type {} does not hold floating-point numbers", name_of(tensor.dtype));
  }
  throw_unknown("type of elements", tensor.dtype);
}

const TensorInfo& of_known_type(const TensorInfo& tensor, const std::string& origin, std::string_view name) {
  require(tensor.unknown_type.empty(), "{}: tensor '{}': elements of type {} are not supported", origin, name,
          tensor.unknown_type);
  return tensor;
}

void throw_no_tensor(const std::string& origin, std::string_view name, const std::vector<std::string>& names) {
  const auto meant = nearest(name, names);
  throw_input_error("{}: no tensor '{}'{}", origin, name,
                    meant ? fmt::format(" (did you mean '{}'?)", *meant) : "");
}

void TensorMap::add(const std::string& name, TensorInfo tensor) {
  const bool added = tensors_.emplace(name, std::move(tensor)).second;
  require(added, "{}: the tensor '{}' occurs twice", origin_, name);
}

void TensorMap::rename(const std::string& name, const std::string& now) {
  add(now, at(name));
  tensors_.erase(name);
}

std::vector<std::string> TensorMap::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

const TensorInfo* TensorMap::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const TensorInfo& TensorMap::at(std::string_view name) const {
  if (const TensorInfo* tensor = find(name)) return of_known_type(*tensor, origin_, name);
  throw_no_tensor(origin_, name, names());
}

}  // namespace sixfold
