#include "ops/arena.h"

#include <algorithm>

namespace sixfold {
namespace {

constexpr size_t alignment = 64;
constexpr size_t smallest_chunk = size_t{16} << 20;

class LastingMemory final : public Memory {
 public:
  explicit LastingMemory(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}
  void* allocate(size_t bytes) override { return backend_->allocate(bytes); }
  void free(void* data, size_t bytes) override { backend_->free(data, bytes); }

 private:
  std::shared_ptr<Backend> backend_;
};

size_t padded(size_t bytes) { return std::max(alignment, (bytes + alignment - 1) / alignment * alignment); }

}  // namespace

std::shared_ptr<Memory> lasting_memory(std::shared_ptr<Backend> backend) {
  return std::make_shared<LastingMemory>(std::move(backend));
}

Arena::~Arena() {
  for (auto& [data, bytes] : chunks_) backend_->free(data, bytes);
}

void Arena::add_chunk(size_t bytes) {
  char* data = static_cast<char*>(backend_->allocate(bytes));
  chunks_.emplace_back(data, bytes);
  blocks_[data] = {bytes, true, true};
  reserved_ += bytes;
}

// A computation that needed more memory than one chunk leaves several chunks. They are replaced by a single
// chunk that holds the memory used and some more for gaps. The extra amount grows each time it was not enough.
void Arena::merge_chunks() {
  const size_t total = padded(peak_ + peak_ / 8 * ++merges_);
  for (auto& [data, bytes] : chunks_) backend_->free(data, bytes);
  chunks_.clear();
  blocks_.clear();
  reserved_ = 0;
  add_chunk(total);
}

void* Arena::allocate(size_t bytes) {
  bytes = padded(bytes);
  if (in_use_ == 0 && chunks_.size() > 1) merge_chunks();
  auto best = blocks_.end();
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it)
    if (it->second.free && it->second.bytes >= bytes &&
        (best == blocks_.end() || it->second.bytes < best->second.bytes))
      best = it;
  if (best == blocks_.end()) {
    add_chunk(std::max({bytes, smallest_chunk, reserved_}));  // untouched pages of host memory cost nothing
    best = blocks_.find(chunks_.back().first);
  }
  if (best->second.bytes > bytes) blocks_[best->first + bytes] = {best->second.bytes - bytes, true, false};
  best->second.bytes = bytes;
  best->second.free = false;
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return best->first;
}

void Arena::free(void* data, size_t) {
  auto it = blocks_.find(static_cast<char*>(data));
  in_use_ -= it->second.bytes;
  it->second.free = true;
  const auto join_next = [&](auto block) {
    auto next = std::next(block);
    if (next == blocks_.end() || !next->second.free || next->second.first) return;
    block->second.bytes += next->second.bytes;
    blocks_.erase(next);
  };
  join_next(it);
  if (!it->second.first && std::prev(it)->second.free) join_next(std::prev(it));
}

}  // namespace sixfold
