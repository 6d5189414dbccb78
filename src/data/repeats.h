#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sixfold {

/// Finds the items that repeat an earlier one, by a hash of each. The hashes are in an unnamed temporary file,
/// so there may be more of them than fit into memory.
class RepeatFinder {
 public:
  /// `folder` is the folder of the temporary file. Failures to write it are environment errors.
  explicit RepeatFinder(const std::string& folder);
  ~RepeatFinder();
  RepeatFinder(const RepeatFinder&) = delete;
  RepeatFinder& operator=(const RepeatFinder&) = delete;

  void add(uint64_t hash);
  /// For each item, whether an earlier one has the same hash and `equal(earlier, item)` is true. Call once,
  /// last.
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
