#pragma once
#include <atomic>
#include <cstddef>

namespace sixfold::serve {

/// A part of a sum that has a limit, such as the bytes of all bodies. It is given back when the object dies.
/// For one thread; the sum may be shared between threads, and must outlive its shares.
class Share {
 public:
  Share(std::atomic<size_t>& all, size_t most) : all_(all), most_(most) {}
  ~Share() { all_ -= own_; }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;

  size_t amount() const { return own_; }
  /// Adds to the sum, unless it would exceed the limit. Returns whether it was added.
  bool grow(size_t amount) {
    const size_t sum = all_.fetch_add(amount) + amount;
    if (sum > most_ || sum < amount) {
      all_ -= amount;
      return false;
    }
    own_ += amount;
    return true;
  }

 private:
  std::atomic<size_t>& all_;
  const size_t most_;
  size_t own_ = 0;
};

}  // namespace sixfold::serve
