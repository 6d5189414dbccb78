#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sixfold {

/// Finds the items that repeat an earlier one, by a hash of each. The hashes are stored in an unnamed temporary
/// file, so there may be more of them than fit into memory.
class RepeatFinder {
 public:
  /// `folder` is the folder of the temporary file, which has 8 bytes for each item. `at_once` is the number of
  /// items that `find` compares at once, each with 16 bytes of memory; it reads the whole file once for each
  /// such group. Failures to write or read it are environment errors.
  explicit RepeatFinder(const std::string& folder, int64_t at_once = int64_t{1} << 22);
  ~RepeatFinder();
  RepeatFinder(const RepeatFinder&) = delete;
  RepeatFinder& operator=(const RepeatFinder&) = delete;

  void add(uint64_t hash);
  /// For each item, whether an earlier one has the same hash and `equal(earlier, item)` is true. Call once,
  /// last. When `stop` becomes nonzero, `Cancelled` is thrown.
  std::vector<bool> find(const std::function<bool(int64_t, int64_t)>& equal,
                         const std::atomic<int>* stop = nullptr);

 private:
  struct Record {
    uint64_t hash;
    int64_t index;
  };
  void flush();
  std::vector<Record> read_part(uint64_t part, uint64_t parts, const std::atomic<int>* stop) const;

  std::string folder_;
  int64_t at_once_;
  int descriptor_;
  int64_t count_ = 0;
  std::vector<uint64_t> buffer_;
};

}  // namespace sixfold
