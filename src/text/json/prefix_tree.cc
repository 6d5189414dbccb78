#include "text/json/prefix_tree.h"

#include <algorithm>

namespace sixfold {
namespace {

/// The strings [begin, end) that begin with the first `length` bytes of each other: those of a node.
struct SameBeginning {
  size_t begin, end, length;
};

}  // namespace

PrefixTree::PrefixTree(std::vector<std::pair<std::string_view, int32_t>> strings) {
  std::ranges::stable_sort(strings, {}, &std::pair<std::string_view, int32_t>::first);
  nodes_.emplace_back();
  std::vector<SameBeginning> nodes{{0, strings.size(), 0}};
  for (size_t i = 0; i < nodes.size(); ++i) {  // a node's children are appended while it is visited
    auto [begin, end, length] = nodes[i];
    for (; begin < end && strings[begin].first.size() == length; ++begin)
      nodes_[i].number = strings[begin].second;
    nodes_[i].first_child = static_cast<int32_t>(nodes.size());
    while (begin < end) {
      const char byte = strings[begin].first[length];
      size_t same = begin;
      while (same < end && strings[same].first[length] == byte) ++same;
      nodes.push_back({begin, same, length + 1});
      nodes_.emplace_back().byte = static_cast<uint8_t>(byte);
      ++nodes_[i].children;
      begin = same;
    }
  }
  first_.fill(none);
  for (int32_t child = 0; child < nodes_[0].children; ++child)
    first_[nodes_[static_cast<size_t>(child + nodes_[0].first_child)].byte] = child + nodes_[0].first_child;
}

int32_t PrefixTree::next(int32_t node, unsigned char byte) const {
  if (node == root) return first_[byte];
  const Node& from = nodes_[static_cast<size_t>(node)];
  const Node* const begin = nodes_.data() + from.first_child;
  const Node* const end = begin + from.children;
  const Node* const found =
      std::lower_bound(begin, end, byte, [](const Node& a, uint8_t b) { return a.byte < b; });
  return found != end && found->byte == byte ? static_cast<int32_t>(found - nodes_.data()) : none;
}

int32_t PrefixTree::find(std::string_view text) const {
  int32_t node = root;
  for (size_t i = 0; i < text.size() && node != none; ++i)
    node = next(node, static_cast<unsigned char>(text[i]));
  return node;
}

}  // namespace sixfold
