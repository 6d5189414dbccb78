#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"

namespace sixfold {

/// A tensor in a mapped file. Its bytes need not be aligned to its type.
struct TensorInfo {
  DType dtype;
  std::vector<int64_t> shape;  ///< empty for a scalar
  std::span<const std::byte> bytes;
  /// The file's name for a type that is not a `DType`; then `dtype` has no meaning, and the tensor can be
  /// listed but not read.
  std::string unknown_type = {};
  /// Computes the values of a tensor that is quantized in the file, whose `dtype` is then F32; null: `bytes`
  /// are elements of `dtype`. It may throw an input error that says what is wrong with the bytes.
  std::function<std::vector<float>(const TensorInfo& tensor)> decode = nullptr;
};

/// The value of a half-precision floating-point number with these bits.
float float_of_half(uint16_t half);

/// The number of bytes of a tensor, or nothing if a size is negative or the product overflows.
std::optional<uint64_t> tensor_bytes(DType dtype, const std::vector<int64_t>& shape);

/// Converts a tensor of type F32, F64, F16 or BF16, or a quantized one, to fp32. Throws an input error for
/// other types.
std::vector<float> to_floats(const TensorInfo& tensor);

/// Returns `tensor`. Throws an input error that names `origin` and `name` if its type is unknown.
const TensorInfo& of_known_type(const TensorInfo& tensor, const std::string& origin, std::string_view name);

/// Throws an input error that `origin` has no tensor `name`, with the nearest of `names`.
[[noreturn]] void throw_no_tensor(const std::string& origin, std::string_view name,
                                  const std::vector<std::string>& names);

/// The number of names that a tied embedding may have. Files whose tensors share more bytes than that are
/// refused, since a small one would become a large model.
inline constexpr uint64_t names_of_tied = 4;

/// Named tensors in mapped files of any format.
class TensorMap {
 public:
  /// `origin` is the name of the files in error messages.
  explicit TensorMap(std::string origin) : origin_(std::move(origin)) {}

  /// Adds a tensor. Throws an input error if there is already one of that name.
  void add(const std::string& name, TensorInfo tensor);
  /// Gives a tensor another name. Throws as `at` and `add`.
  void rename(const std::string& name, const std::string& now);
  /// Keeps `file`, which owns bytes of the tensors, during the lifetime of the map.
  void keep(std::shared_ptr<const void> file) { files_.push_back(std::move(file)); }

  const std::string& origin() const { return origin_; }
  std::vector<std::string> names() const;
  /// The tensor of that name, or null. Its type may be unknown.
  const TensorInfo* find(std::string_view name) const;
  /// The tensor of that name. If there is none, throws an input error with the nearest existing name; also if
  /// its type is unknown.
  const TensorInfo& at(std::string_view name) const;

 private:
  std::string origin_;
  std::map<std::string, TensorInfo, std::less<>> tensors_;
  std::vector<std::shared_ptr<const void>> files_;
};

}  // namespace sixfold
