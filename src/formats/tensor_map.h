#pragma once
#include <cstddef>
#include <cstdint>
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
};

/// The bytes of a tensor of that shape; nothing when a size is negative or the product overflows.
std::optional<uint64_t> tensor_bytes(DType dtype, const std::vector<int64_t>& shape);

/// The values of a tensor of type F32, F64, F16 or BF16; F64 is rounded. Throws an input error for another
/// type.
std::vector<float> to_floats(const TensorInfo& tensor);

/// Throws the error that `origin` has no such tensor, with the nearest name that it has.
[[noreturn]] void throw_no_tensor(const std::string& origin, std::string_view name,
                                  const std::vector<std::string>& names);

/// Named tensors of mapped files, whatever the files' format.
class TensorMap {
 public:
  /// `origin` names the files in errors.
  explicit TensorMap(std::string origin) : origin_(std::move(origin)) {}

  /// Throws an input error when there is one of that name.
  void add(const std::string& name, TensorInfo tensor);
  /// Keeps what the tensors' bytes lie in.
  void keep(std::shared_ptr<const void> file) { files_.push_back(std::move(file)); }

  const std::string& origin() const { return origin_; }
  std::vector<std::string> names() const;
  /// The tensor of that name, or null.
  const TensorInfo* find(std::string_view name) const;
  /// The tensor of that name; without one throws an input error with the nearest name there is.
  const TensorInfo& at(std::string_view name) const;

 private:
  std::string origin_;
  std::map<std::string, TensorInfo, std::less<>> tensors_;
  std::vector<std::shared_ptr<const void>> files_;
};

}  // namespace sixfold
