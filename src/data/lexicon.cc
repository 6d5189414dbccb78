#include "data/lexicon.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace sixfold {

/// Calls `body` for the row of no source token and for those of the source tokens of pair i except the end
/// token.
template <class Body>
void LexicalTable::for_sources(const TokenCorpus& corpus, int64_t i, const Body& body) {
  body(rows_[0]);
  const auto source = corpus.source[i];
  for (const int32_t id : source.first(source.size() - 1)) body(rows_[static_cast<size_t>(id) + 1]);
}

LexicalTable::LexicalTable(const TokenCorpus& corpus, int source_vocab, int iterations,
                           const std::atomic<int>* stop)
    : rows_(static_cast<size_t>(source_vocab) + 1) {
  for (int64_t i = 0; i < corpus.size(); ++i)
    for_sources(corpus, i, [&](Row& row) {
      for (const int32_t id : corpus.target[i]) row.add(id);
    });
  for (Row& row : rows_) row.finish_ids();
  for (int i = 0; i < iterations; ++i) train_iteration(corpus, stop);
}

void LexicalTable::train_iteration(const TokenCorpus& corpus, const std::atomic<int>* stop) {
  std::vector<std::pair<Row*, size_t>>
      indices;  // the rows of the source tokens, and the index of a target token in each
  for (int64_t i = 0; i < corpus.size(); ++i) {
    throw_if_stopped(stop);
    for (const int32_t target : corpus.target[i]) {
      float sum = 0;
      indices.clear();
      for_sources(corpus, i, [&](Row& row) {
        indices.emplace_back(&row, row.index_of(target));
        sum += row.probability[indices.back().second];
      });
      for (const auto& [row, index] : indices) row->count[index] += row->probability[index] / sum;
    }
  }
  for (Row& row : rows_) row.normalize();
}

float LexicalTable::probability(int32_t source, int32_t target) const {
  const Row& found = row(source);
  const size_t index = found.index_of(target);
  return index < found.ids.size() && found.ids[index] == target ? found.probability[index] : 0;
}

std::vector<int32_t> LexicalTable::best(int32_t source, int max_targets, float min_probability) const {
  const Row& found = row(source);
  std::vector<size_t> indices(found.ids.size());
  std::iota(indices.begin(), indices.end(), size_t{0});
  std::stable_sort(indices.begin(), indices.end(),
                   [&](size_t a, size_t b) { return found.probability[a] > found.probability[b]; });
  std::vector<int32_t> ids;
  for (const size_t index : indices)
    if (std::ssize(ids) < max_targets && found.probability[index] >= min_probability)
      ids.push_back(found.ids[index]);
  return ids;
}

void LexicalTable::Row::add(int32_t id) {
  ids.push_back(id);
  if (ids.size() > 64 && ids.size() > 2 * unique_count) make_unique();
}

void LexicalTable::Row::make_unique() {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  unique_count = ids.size();
}

void LexicalTable::Row::finish_ids() {
  make_unique();
  ids.shrink_to_fit();
  probability.assign(ids.size(), 1.0f / static_cast<float>(std::max<size_t>(1, ids.size())));
  count.assign(ids.size(), 0.0);
}

size_t LexicalTable::Row::index_of(int32_t id) const {
  return static_cast<size_t>(std::lower_bound(ids.begin(), ids.end(), id) - ids.begin());
}

void LexicalTable::Row::normalize() {
  const double sum = std::accumulate(count.begin(), count.end(), 0.0);
  for (size_t i = 0; i < count.size(); ++i)
    probability[i] = sum > 0 ? static_cast<float>(count[i] / sum) : 0.0f;
  std::fill(count.begin(), count.end(), 0.0);
}

std::vector<std::vector<int32_t>> learn_lexicon(const TokenCorpus& corpus, int source_vocab, int target_vocab,
                                                int best, int iterations, const std::atomic<int>* stop) {
  constexpr float min_probability = 1e-4f;
  const LexicalTable table(corpus, source_vocab, iterations, stop);
  std::vector<std::vector<int32_t>> lexicon;
  for (int32_t id = 0; id < source_vocab; ++id)
    lexicon.push_back(table.best(id, std::min(best, target_vocab), min_probability));
  return lexicon;
}

std::vector<int32_t> frequent_targets(const TokenCorpus& corpus, int target_vocab, int count) {
  std::vector<int64_t> counts(static_cast<size_t>(target_vocab));
  counts[static_cast<size_t>(corpus.target_eos)] = corpus.size();
  for (int64_t i = 0; i < corpus.size(); ++i)
    for (const int32_t id : corpus.target[i]) ++counts[static_cast<size_t>(id)];
  std::vector<int32_t> ids(counts.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    return counts[static_cast<size_t>(a)] > counts[static_cast<size_t>(b)];
  });
  ids.resize(static_cast<size_t>(std::min(count, target_vocab)));
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace sixfold
