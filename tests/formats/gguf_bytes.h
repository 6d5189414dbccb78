#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/protobuf.h"

namespace sixfold {

/// Puts a GGUF file together.
class GgufBytes {
 public:
  static std::string text(const std::string& text) {
    return protobuf::little_endian(uint64_t{text.size()}) + text;
  }
  /// Adds a value, given as its bytes.
  GgufBytes& add(const std::string& key, uint32_t type, const std::string& value) {
    values_ += text(key) + protobuf::little_endian(type) + value;
    ++value_count_;
    return *this;
  }
  GgufBytes& add(const std::string& key, const std::string& value) { return add(key, 8, text(value)); }
  GgufBytes& add(const std::string& key, uint32_t value) { return add(key, 4, protobuf::little_endian(value)); }
  GgufBytes& add(const std::string& key, const std::vector<std::string>& texts) {
    std::string all = protobuf::little_endian(uint32_t{8}) + protobuf::little_endian(uint64_t{texts.size()});
    for (const std::string& one : texts) all += text(one);
    return add(key, 9, all);
  }
  /// Adds a tensor, the fastest of its sizes first, whose data follow those before, aligned to 32 bytes.
  GgufBytes& tensor(const std::string& name, const std::vector<uint64_t>& sizes, uint32_t type,
                    const std::string& data) {
    return tensor_at(data_.size(), name, sizes, type, data);
  }
  GgufBytes& tensor_at(uint64_t offset, const std::string& name, const std::vector<uint64_t>& sizes,
                       uint32_t type, const std::string& data) {
    tensors_ += text(name) + protobuf::little_endian(static_cast<uint32_t>(sizes.size()));
    for (const uint64_t size : sizes) tensors_ += protobuf::little_endian(size);
    tensors_ += protobuf::little_endian(type) + protobuf::little_endian(offset);
    data_ += data + std::string((32 - data.size() % 32) % 32, '\0');
    ++tensor_count_;
    return *this;
  }
  std::string bytes(uint32_t version = 3) const {
    std::string file = "GGUF" + protobuf::little_endian(version) + protobuf::little_endian(tensor_count_) +
                       protobuf::little_endian(value_count_) + values_ + tensors_;
    return file + std::string((32 - file.size() % 32) % 32, '\0') + data_;
  }

 private:
  std::string values_, tensors_, data_;
  uint64_t value_count_ = 0, tensor_count_ = 0;
};

}  // namespace sixfold
