#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "formats/tensor_map.h"

// The safetensors format: eight bytes with the length of a JSON header, the header (for each tensor its type,
// shape and range of bytes), and the tensors, little endian and without gaps.

namespace sixfold {

/// A file of named tensors, mapped into memory; the bytes of its tensors live as long as it does.
class SafetensorsFile {
 public:
  /// Reads and checks the header: every length, type and range, that no bytes belong to two tensors or to none.
  /// Throws an input error that names the file, the tensor and what is wrong.
  static SafetensorsFile open(const std::string& path);

  /// The names, in the order in which the tensors lie in the file.
  const std::vector<std::string>& names() const { return names_; }
  /// The tensor of that name, or null.
  const TensorInfo* find(std::string_view name) const;
  /// The tensor of that name; without one throws an input error with the nearest name there is.
  const TensorInfo& at(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }
  /// Reads all tensors and compares them with the checksum that Sixfold writes into the metadata. Throws an
  /// input error where they differ; files of other programs have none.
  void verify() const;
  /// For who has made something else of the tensors: the memory that reading them took is given back.
  void let_go_pages() const { file_.let_go_pages(); }

 private:
  explicit SafetensorsFile(const std::string& path) : path_(path), file_(path) {}

  std::string path_;
  MappedFile file_;
  std::span<const std::byte> data_;  ///< of all tensors
  std::vector<std::string> names_;
  std::map<std::string, TensorInfo, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// The tensors of such a file, and those of a model in several, by the index that lists which tensor lies in
/// which
/// ("weight_map" of model.safetensors.index.json). Throws an input error for files outside the index's folder,
/// missing ones, and tensors that the index and the files do not agree on.
TensorMap read_safetensors(const std::string& path);
TensorMap read_sharded_safetensors(const std::string& index_path);

/// What the header of a file says of a tensor.
struct TensorEntry {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
};

/// Writes a file tensor by tensor, atomically, with a checksum of all of them in its metadata. Throws an input
/// error for a name given twice or a negative size, an environment error when the file can't be written.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::string& path, std::span<const TensorEntry> tensors,
                    std::map<std::string, std::string> metadata = {});

  /// The next tensor's elements, row-major, in the order of the entries.
  void add(const void* data);
  /// Call once, last.
  void commit();

 private:
  AtomicFile file_;
  std::vector<uint64_t> sizes_;  ///< in bytes
  size_t added_ = 0;
  HashStream hash_;
  int64_t checksum_at_ = 0;
};

/// A tensor to write: `data` holds the product of `shape` elements, row-major.
struct NamedTensor {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  const void* data;
};

/// The same for tensors that are all in memory.
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace sixfold
