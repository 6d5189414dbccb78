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

// The safetensors format: eight bytes with the length of a JSON header, the header (type, shape and byte range
// of each tensor), and the data of the tensors, little endian and without gaps.

namespace sixfold {

/// A file of named tensors, mapped into memory. The bytes of its tensors are valid during the lifetime of the
/// object. Any number of threads may read one object.
class SafetensorsFile {
 public:
  /// Reads and checks the header: every length and range, and that each byte belongs to exactly one tensor. A
  /// tensor may have an unknown type, as long as it is not read. Throws an input error that names the file and
  /// the tensor.
  static SafetensorsFile open(const std::string& path);

  /// The names of the tensors, in the order of their data in the file.
  const std::vector<std::string>& names() const { return names_; }
  /// The tensor of that name, or null. Its type may be unknown.
  const TensorInfo* find(std::string_view name) const;
  /// The tensor of that name. If there is none, throws an input error with the nearest existing name; also if
  /// its type is unknown.
  const TensorInfo& at(std::string_view name) const;
  /// The checksum that was stored when the tensors were written; empty in files of other programs.
  std::string checksum() const;
  /// The checksum of the tensors as they are now, which reads all of them.
  std::string computed_checksum() const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::string& path() const { return path_; }
  /// Reads all tensors and compares them with the checksum that Sixfold writes into the metadata. Throws an
  /// input error if they differ. Files of other programs have no checksum and are not checked.
  void verify() const;
  /// Releases the memory of the pages that were read, for callers that have converted the tensors. They are
  /// read again where they are needed. A large file should be released after every `pages_at_once` bytes, so
  /// that it and what is made of it are never in memory at the same time.
  void release_pages() const { file_.release_pages(); }

  static constexpr size_t pages_at_once = 32 << 20;

 private:
  explicit SafetensorsFile(const std::string& path) : path_(path), file_(path) {}

  std::string path_;
  MappedFile file_;
  std::span<const std::byte> data_;  ///< the data of all tensors
  std::vector<std::string> names_;
  std::map<std::string, TensorInfo, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

/// Maps a safetensors file and returns its tensors.
TensorMap read_safetensors(const std::string& path);
/// Maps a model that is split into several files and returns its tensors. The index ("weight_map" of
/// model.safetensors.index.json) says which file contains which tensor. Throws an input error for missing
/// files, files outside the folder of the index, and tensors on which the index and the files disagree.
TensorMap read_sharded_safetensors(const std::string& index_path);

/// The header entry of a tensor to write.
struct TensorEntry {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
};

/// Writes a file tensor by tensor, atomically, with a checksum of all of them in its metadata. Throws an input
/// error for a repeated name or a negative size, and an environment error if the file can't be written.
class SafetensorsWriter {
 public:
  SafetensorsWriter(const std::string& path, std::span<const TensorEntry> tensors,
                    std::map<std::string, std::string> metadata = {});

  /// Writes the elements of the next tensor, row-major. Tensors come in the order of the entries.
  void add(const void* data);
  /// Call once, last.
  void commit();

 private:
  AtomicFile file_;
  std::vector<uint64_t> sizes_;  ///< in bytes
  size_t added_ = 0;
  HashStream hash_;
  int64_t checksum_offset_ = 0;
};

/// A tensor to write. `data` points to its elements, row-major; their number is the product of `shape`.
struct NamedTensor {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  const void* data;
};

/// Writes tensors that are all in memory, as `SafetensorsWriter`.
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace sixfold
