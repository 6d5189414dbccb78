#include "metrics/classification.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"

namespace sixfold {

int64_t ConfusionMatrix::total() const { return std::accumulate(counts_.begin(), counts_.end(), int64_t{0}); }

double ConfusionMatrix::accuracy() const {
  int64_t right = 0;
  for (size_t i = 0; i < classes_; ++i) right += count(i, i);
  return total() > 0 ? static_cast<double>(right) / static_cast<double>(total()) : 0;
}

double ConfusionMatrix::macro_f1() const {
  double sum = 0;
  int present = 0;
  for (size_t i = 0; i < classes_; ++i) {
    int64_t rows = 0, columns = 0;
    for (size_t j = 0; j < classes_; ++j) rows += count(i, j), columns += count(j, i);
    if (rows + columns == 0) continue;
    ++present;
    sum += 2 * static_cast<double>(count(i, i)) / static_cast<double>(rows + columns);
  }
  return present > 0 ? sum / present : 0;
}

LabelPairs& LabelPairs::operator+=(const LabelPairs& other) {
  for (const auto& [pair, count] : other.counts) counts[pair] += count;
  return *this;
}

std::vector<std::string> LabelPairs::labels() const {
  std::set<std::string> all;
  for (const auto& [pair, count] : counts) all.insert({pair.first, pair.second});
  return {all.begin(), all.end()};
}

ConfusionMatrix LabelPairs::confusion() const {
  const std::vector<std::string> names = labels();
  const auto number = [&](const std::string& label) {
    return static_cast<size_t>(std::ranges::lower_bound(names, label) - names.begin());
  };
  ConfusionMatrix matrix(names.size());
  for (const auto& [pair, count] : counts) matrix.add(number(pair.first), number(pair.second), count);
  return matrix;
}

namespace {

std::string label_of(std::string_view line) {
  constexpr std::string_view byte_order_mark = "\uFEFF", spaces = " \r";
  if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  line = line.substr(0, line.find('\t'));
  const size_t begin = line.find_first_not_of(spaces);
  if (begin == line.npos) return {};
  return std::string(line.substr(begin, line.find_last_not_of(spaces) - begin + 1));
}

}  // namespace

LabelPairs LabelMetric::statistics(std::string_view hypothesis, std::span<const std::string> references) const {
  require(references.size() == 1, "there are {} references, but a text has one label", references.size());
  return {{{{label_of(references[0]), label_of(hypothesis)}, 1}}};
}

}  // namespace sixfold
