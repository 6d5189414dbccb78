#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace sixfold {

/// Strings with numbers, which are found by their prefixes: a tree with a node for each prefix. Safe to share
/// between threads.
class PrefixTree {
 public:
  static constexpr int32_t root = 0, none = -1;

  PrefixTree() : PrefixTree(std::vector<std::pair<std::string_view, int32_t>>()) {}
  /// Of equal strings the last one counts. The numbers are at least 0. The strings are not needed afterwards.
  /// Takes O(n log n) time and O(n) memory for n bytes.
  explicit PrefixTree(std::vector<std::pair<std::string_view, int32_t>> strings);

  /// The node of a longer prefix, by its last byte, or `none`.
  int32_t next(int32_t node, unsigned char byte) const;
  /// The node of a string, or `none`.
  int32_t find(std::string_view text) const;
  /// The number of the string that a node stands for, or `none`.
  int32_t number(int32_t node) const { return nodes_[static_cast<size_t>(node)].number; }

 private:
  struct Node {
    int32_t first_child = 0;  ///< children are neighbours, in the order of their bytes
    int32_t number = none;
    uint16_t children = 0;
    uint8_t byte = 0;
  };
  std::vector<Node> nodes_;
  std::array<int32_t, 256> first_{};  // the children of the root
};

}  // namespace sixfold
