#pragma once
#include <map>
#include <memory>
#include <vector>

#include "backend/backend.h"

namespace sixfold {

/// Where tensors live.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual void* allocate(size_t bytes) = 0;
  virtual void free(void* data, size_t bytes) = 0;
};

/// Memory for what lasts, such as weights: each piece straight from the backend.
std::shared_ptr<Memory> lasting_memory(std::shared_ptr<Backend> backend);

/// The buffers of a context. A piece that was freed is used again, the best fit first; the same computation
/// gets the same places each time. Once warm it asks the backend for nothing. For one thread at a time.
class Arena final : public Memory {
 public:
  explicit Arena(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  ~Arena() override;

  void* allocate(size_t bytes) override;
  void free(void* data, size_t bytes) override;

  size_t in_use() const { return in_use_; }
  size_t peak() const { return peak_; }          ///< most bytes in use at once
  size_t reserved() const { return reserved_; }  ///< bytes held from the backend

 private:
  struct Block {
    size_t bytes;
    bool free;
    bool first;  ///< of its chunk: never joined with the block before
  };
  void add_chunk(size_t bytes);
  void merge_chunks();

  std::shared_ptr<Backend> backend_;
  std::map<char*, Block> blocks_;  ///< by address
  std::vector<std::pair<char*, size_t>> chunks_;
  size_t in_use_ = 0, peak_ = 0, reserved_ = 0, merges_ = 0;
};

}  // namespace sixfold
