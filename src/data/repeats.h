#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sixfold {

/// Finds out which of many items repeat an earlier one, by a hash of each. The hashes lie in a file without a
/// name, so that there may be more of them than memory.
class RepeatFinder {
 public:
  /// `folder`: where the file is made.
  explicit RepeatFinder(const std::string& folder);
  ~RepeatFinder();
  RepeatFinder(const RepeatFinder&) = delete;
  RepeatFinder& operator=(const RepeatFinder&) = delete;

  void add(uint64_t hash);
  /// For each item whether an earlier one has its hash and `equal(earlier, item)`. Call once.
  std::vector<bool> find(const std::function<bool(int64_t, int64_t)>& equal);

 private:
  struct Record {
    uint64_t hash;
    int64_t index;
  };
  void flush();

  std::string folder_;
  int descriptor_;
  int64_t count_ = 0;
  std::vector<Record> buffer_;
};

}  // namespace sixfold
