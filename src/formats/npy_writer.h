#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"

namespace sixfold {

/// Writes an .npy file (numpy.lib.format, version 1.0): an array of fp32 numbers in little endian, of shape
/// [rows, columns]. Rows are written as they come, so that their number is known at the end. The file appears
/// at `close`, when it is complete. Failures are environment errors as for `AtomicFile`.
class NpyWriter {
 public:
  NpyWriter(const std::string& path, int64_t columns);

  /// Writes a row, which has `columns` values.
  void write(std::span<const float> row);
  /// Call once, last. Without it the file does not appear.
  void close();

 private:
  AtomicFile file_;
  int64_t columns_, rows_ = 0;
};

}  // namespace sixfold
