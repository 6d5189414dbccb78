#include "text/merges.h"

#include <cstddef>
#include <queue>
#include <random>
#include <utility>

namespace sixfold {
namespace {

constexpr int32_t merged_away = -1;  // the id of a token that has become part of the one before it

/// Merges the tokens of a long word, pair by pair, with a queue of pairs.
class Merger {
 public:
  Merger(const Merges& merges, std::span<LocatedToken> tokens)
      : merges_(merges), tokens_(tokens), next_(tokens.size()), before_(tokens.size()) {
    for (size_t i = 0; i < tokens_.size(); ++i) next_[i] = i + 1, before_[i] = i - 1;
    for (size_t i = 0; i + 1 < tokens_.size(); ++i) offer(i);
  }
  /// Leaves `merged_away` where a token has become part of the one before it.
  void run() {
    while (!pairs_.empty()) {
      const Pair pair = pairs_.top();
      pairs_.pop();
      if (is_current(pair)) merge(pair);
    }
  }

 private:
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
    if (const Merge* found = merges_.find(tokens_[left].id, tokens_[right].id))
      pairs_.push({found->rank, left, tokens_[left].id, tokens_[right].id, found->merged});
  }
  bool is_current(const Pair& pair) const {
    return tokens_[pair.place].id == pair.left && next_[pair.place] < tokens_.size() &&
           tokens_[next_[pair.place]].id == pair.right;
  }
  void merge(const Pair& pair) {
    const size_t right = next_[pair.place];
    tokens_[pair.place].id = pair.merged;
    tokens_[pair.place].end = tokens_[right].end;
    tokens_[right].id = merged_away;
    next_[pair.place] = next_[right];
    if (next_[right] < tokens_.size()) before_[next_[right]] = pair.place;
    offer(pair.place);
    if (before_[pair.place] < tokens_.size()) offer(before_[pair.place]);
  }

  const Merges& merges_;
  std::span<LocatedToken> tokens_;
  std::vector<size_t> next_, before_;  // places of the neighbours; beyond the end: none
  std::priority_queue<Pair> pairs_;
};

constexpr size_t short_word = 24;  // tokens; faster without a queue

/// Merges the tokens of a short word; returns how many are left.
size_t merge_short(const Merges& merges, std::span<LocatedToken> tokens) {
  const Merge* pairs[short_word] = {};  // what each token and the next one merge to
  size_t count = tokens.size();
  const auto find_merge = [&](size_t i) {
    pairs[i] = i + 1 < count ? merges.find(tokens[i].id, tokens[i + 1].id) : nullptr;
  };
  for (size_t i = 0; i < count; ++i) find_merge(i);
  while (true) {
    size_t best = count;
    for (size_t i = 0; i + 1 < count; ++i)
      if (pairs[i] && (best == count || pairs[i]->rank < pairs[best]->rank)) best = i;
    if (best == count) return count;
    tokens[best].id = pairs[best]->merged;
    tokens[best].end = tokens[best + 1].end;
    --count;
    for (size_t i = best + 1; i < count; ++i) tokens[i] = tokens[i + 1], pairs[i] = pairs[i + 1];
    find_merge(best);
    if (best > 0) find_merge(best - 1);
  }
}

}  // namespace

Merges::Merges() : entries_(16, {empty, {}}), seed_(std::random_device{}()) {}

void Merges::add(int32_t left, int32_t right, int32_t merged) {
  if (2 * (used_ + 1) > entries_.size()) {
    std::vector<Entry> before(2 * entries_.size(), {empty, {}});
    before.swap(entries_);
    for (const Entry& entry : before)
      if (entry.key != empty) entries_[place_of(entry.key)] = entry;
  }
  Entry& entry = entries_[place_of(key_of(left, right))];
  if (entry.key == empty) ++used_;
  entry = {key_of(left, right), {added_++, merged}};
}

void Merges::apply(std::vector<LocatedToken>& tokens, size_t first) const {
  const std::span<LocatedToken> word = std::span(tokens).subspan(first);
  if (word.size() <= short_word) return tokens.resize(first + merge_short(*this, word));
  Merger(*this, word).run();
  std::erase_if(tokens, [](const LocatedToken& token) { return token.id == merged_away; });
}

}  // namespace sixfold
