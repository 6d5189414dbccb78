#pragma once
#include <map>
#include <memory>
#include <vector>

#include "backend/backend.h"

namespace sixfold {

/// Allocates the memory of tensors.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual void* allocate(size_t bytes) = 0;
  virtual void free(void* data, size_t bytes) = 0;
};

/// Returns memory for long-lived tensors, such as weights: each allocation is one of the backend.
std::shared_ptr<Memory> lasting_memory(std::shared_ptr<Backend> backend);

/// An allocator for the temporary tensors of a context. It reuses freed blocks, the best fit first, so that
/// equal computations get the same addresses each time. After the first computations it asks the backend for no
/// more memory. For one thread at a time.
class Arena final : public Memory {
 public:
  explicit Arena(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  ~Arena() override;

  void* allocate(size_t bytes) override;
  void free(void* data, size_t bytes) override;

  size_t in_use() const { return in_use_; }      ///< number of bytes in use
  size_t peak() const { return peak_; }          ///< maximum number of bytes in use at the same time
  size_t reserved() const { return reserved_; }  ///< bytes allocated from the backend

 private:
  struct Block {
    size_t bytes;
    bool free;
    bool first;  ///< first block of its chunk; never merged with the block before it
  };
  void add_chunk(size_t bytes);
  void merge_chunks();

  std::shared_ptr<Backend> backend_;
  std::map<char*, Block> blocks_;  ///< by address
  std::vector<std::pair<char*, size_t>> chunks_;
  size_t in_use_ = 0, peak_ = 0, reserved_ = 0, merges_ = 0;
};

}  // namespace sixfold
