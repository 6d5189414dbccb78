#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/tensor_map.h"

namespace sixfold {

/// A model in llama.cpp's format GGUF, versions 2 and 3, mapped into memory: metadata by key, and tensors. Any
/// number of threads may read one object.
class GgufFile {
 public:
  /// Reads and checks the whole header: every length, the types of all values, and that no tensors overlap.
  /// Throws an input error that names the file and the key or tensor.
  static GgufFile open(const std::string& path);

  const std::string& path() const { return path_; }
  std::vector<std::string> keys() const;
  bool has(std::string_view key) const { return values_.contains(key); }

  // The value of a key. They throw an input error that names the key if there is none or if it has another type
  // or size.
  int64_t integer(std::string_view key, int64_t min, int64_t max) const;
  double number(std::string_view key) const;
  bool truth(std::string_view key) const;
  std::string text(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key) const;
  std::vector<float> floats(std::string_view key) const;

  /// The tensors, whose shapes begin with the slowest dimension, unlike in the file. They have F32, F16, BF16,
  /// or one of Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K and Q6_K, which are decoded when they are read; others
  /// can be listed but not read. The map keeps the mapped file open.
  const TensorMap& tensors() const { return tensors_; }

 private:
  struct Value {
    uint32_t type = 0;              ///< the type of the value, or of the elements of an array
    std::optional<uint64_t> count;  ///< the length of an array; none for a single value
    std::span<const std::byte> bytes;
  };
  explicit GgufFile(const std::string& path) : path_(path), tensors_(path) {}
  const Value& value(std::string_view key, bool array) const;
  [[noreturn]] void throw_wrong(std::string_view key, std::string_view expected) const;

  std::string path_;
  std::map<std::string, Value, std::less<>> values_;
  TensorMap tensors_;
};

}  // namespace sixfold
