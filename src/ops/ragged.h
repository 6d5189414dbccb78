#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace sixfold {

/// Rows [begin, end) of a matrix.
struct RowRange {
  int32_t begin = 0, end = 0;

  int32_t size() const { return end - begin; }
  bool operator==(const RowRange&) const = default;
};

/// The boundaries of the sequences in a packed batch: sequence i owns rows [offsets[i], offsets[i + 1]) of a
/// [tokens, width] tensor. There is no padding.
struct Ragged {
  std::vector<int32_t> offsets{0};

  int sequences() const { return static_cast<int>(offsets.size()) - 1; }
  int tokens() const { return offsets.back(); }
  int begin(int i) const { return offsets[i]; }
  int length(int i) const { return offsets[i + 1] - offsets[i]; }
  /// Appends a sequence of `length` rows.
  void add(int length) { offsets.push_back(offsets.back() + length); }
};

/// A packed batch of ids: `ids[r]` is the id of row r of `rows`. A row that is a patch of an image has several:
/// its values, 0 to 255.
struct IdBatch {
  std::vector<int32_t> ids;
  Ragged rows;
  int ids_per_row = 1;

  /// Appends one sequence.
  template <class Sequence>
  void add(const Sequence& sequence) {
    ids.insert(ids.end(), sequence.begin(), sequence.end());
    rows.add(static_cast<int>(sequence.size()) / ids_per_row);
  }
  /// The ids of sequence i.
  std::span<const int32_t> sequence(int i) const {
    const auto width = static_cast<size_t>(ids_per_row);
    return std::span(ids).subspan(static_cast<size_t>(rows.begin(i)) * width,
                                  static_cast<size_t>(rows.length(i)) * width);
  }
};

}  // namespace sixfold
