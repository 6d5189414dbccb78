#pragma once
#include <atomic>
#include <cstddef>

namespace sixfold::serve {

/// An amount that is added to a limited sum, such as the bytes of all bodies, and subtracted again by the
/// destructor. A reservation is used by one thread; the sum may be shared between threads, and must outlive all
/// of its reservations.
class Reservation {
 public:
  Reservation(std::atomic<size_t>& sum, size_t limit) : sum_(sum), limit_(limit) {}
  ~Reservation() { sum_ -= amount_; }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  size_t amount() const { return amount_; }
  /// Adds `amount` to the reservation and to the sum, unless the sum would exceed the limit. Returns whether it
  /// was added.
  bool grow(size_t amount) {
    const size_t sum = sum_.fetch_add(amount) + amount;
    if (sum > limit_ || sum < amount) {
      sum_ -= amount;
      return false;
    }
    amount_ += amount;
    return true;
  }

 private:
  std::atomic<size_t>& sum_;
  const size_t limit_;
  size_t amount_ = 0;
};

}  // namespace sixfold::serve
