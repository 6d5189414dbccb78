#include "metrics/classification.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/trim.h"

namespace sixfold {

void ClassCounts::add(size_t truth, size_t predicted, int64_t count) {
  classes_[truth].truth += count;
  classes_[predicted].predicted += count;
  total_ += count;
  if (truth != predicted) return;
  classes_[truth].right += count;
  right_ += count;
}

double ClassCounts::accuracy() const {
  return total_ > 0 ? static_cast<double>(right_) / static_cast<double>(total_) : 0;
}

double ClassCounts::macro_f1() const {
  double sum = 0;
  int present = 0;
  for (const Class& one : classes_) {
    if (one.truth + one.predicted == 0) continue;
    ++present;
    sum += 2 * static_cast<double>(one.right) / static_cast<double>(one.truth + one.predicted);
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

int64_t LabelPairs::count(const std::string& truth, const std::string& predicted) const {
  const auto found = counts.find({truth, predicted});
  return found == counts.end() ? 0 : found->second;
}

ClassCounts LabelPairs::classes() const {
  const std::vector<std::string> names = labels();
  const auto number = [&](const std::string& label) {
    return static_cast<size_t>(std::ranges::lower_bound(names, label) - names.begin());
  };
  ClassCounts all(names.size());
  for (const auto& [pair, count] : counts) all.add(number(pair.first), number(pair.second), count);
  return all;
}

std::string label_of(std::string_view line) {
  constexpr std::string_view byte_order_mark = "\uFEFF";
  if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  return std::string(without_blanks(line.substr(0, line.find('\t'))));
}

LabelPairs LabelMetric::statistics(std::string_view hypothesis, std::span<const std::string> references) const {
  require(references.size() == 1, "there are {} references, but a text has one label", references.size());
  return {{{{label_of(references[0]), label_of(hypothesis)}, 1}}};
}

}  // namespace sixfold
