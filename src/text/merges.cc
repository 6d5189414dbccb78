#include "text/merges.h"

#include <cstddef>
#include <queue>
#include <utility>

namespace sixfold {
namespace {

/// Merges the tokens of a word, pair by pair: always the pair of the lowest rank, of equal ones the first.
class Merger {
 public:
  Merger(const Merges& merges, std::vector<int32_t> tokens)
      : merges_(merges), tokens_(std::move(tokens)), next_(tokens_.size()), before_(tokens_.size()) {
    for (size_t i = 0; i < tokens_.size(); ++i) next_[i] = i + 1, before_[i] = i - 1;
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) offer(i);
  }
  std::vector<int32_t> run() {
    while (!pairs_.empty()) {
      const Pair pair = pairs_.top();
      pairs_.pop();
      if (is_current(pair)) merge(pair);
    }
    std::erase(tokens_, gone);
    return std::move(tokens_);
  }

 private:
  static constexpr int32_t gone = -1;
  struct Pair {
    int32_t rank;
    size_t place;
    int32_t left, right, merged;
    bool operator<(const Pair& other) const {  // the largest of a queue comes first
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };

  void offer(size_t left) {
    const size_t right = next_[left];
    if (right >= tokens_.size()) return;
    if (const Merge* found = merges_.find(tokens_[left], tokens_[right]))
      pairs_.push({found->rank, left, tokens_[left], tokens_[right], found->merged});
  }
  bool is_current(const Pair& pair) const {
    return tokens_[pair.place] == pair.left && next_[pair.place] < tokens_.size() &&
           tokens_[next_[pair.place]] == pair.right;
  }
  void merge(const Pair& pair) {
    const size_t right = next_[pair.place];
    tokens_[pair.place] = pair.merged;
    tokens_[right] = gone;
    next_[pair.place] = next_[right];
    if (next_[right] < tokens_.size()) before_[next_[right]] = pair.place;
    offer(pair.place);
    if (before_[pair.place] < tokens_.size()) offer(before_[pair.place]);
  }

  const Merges& merges_;
  std::vector<int32_t> tokens_;        // `gone` where a token has become part of the one before it
  std::vector<size_t> next_, before_;  // places of the neighbours; beyond the end: none
  std::priority_queue<Pair> pairs_;
};

}  // namespace

std::vector<int32_t> Merges::apply(std::vector<int32_t> tokens) const {
  return Merger(*this, std::move(tokens)).run();
}

}  // namespace sixfold
