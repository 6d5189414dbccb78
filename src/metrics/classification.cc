#include "metrics/classification.h"

#include "base/error.h"
#include "base/trim.h"

namespace sixfold {
namespace {

const std::string& single_reference(std::span<const std::string> references) {
  require(references.size() == 1, "there are {} references, but a text has one label", references.size());
  return references[0];
}

}  // namespace

MetricStatistics Accuracy::statistics(std::string_view output, std::span<const std::string> references) const {
  return {{single_reference(references) == output ? 1.0 : 0.0}};
}

double Accuracy::score(std::span<const double> sums, int64_t outputs) const {
  return 100 * (outputs > 0 ? sums[0] / static_cast<double>(outputs) : 0);
}

MacroF1::MacroF1(const std::vector<std::string>& labels) {
  for (const std::string& label : labels) numbers_.emplace(label, static_cast<uint32_t>(numbers_.size()));
}

uint32_t MacroF1::number_of(std::string_view label) const {
  const auto found = numbers_.find(label);
  require(found != numbers_.end(), "'{}' is not among the labels of macro_f1", label);
  return found->second;
}

MetricStatistics MacroF1::statistics(std::string_view output, std::span<const std::string> references) const {
  const uint32_t truth = number_of(single_reference(references)), found = number_of(output);
  const double right = truth == found ? 1 : 0;
  return {{right, 1, 1}, {3 * truth, 3 * truth + 1, 3 * found + 2}};
}

double MacroF1::score(std::span<const double> sums, int64_t /*outputs*/) const {
  double sum = 0;
  int present = 0;
  for (size_t i = 0; i < sums.size(); i += 3) {
    const double right = sums[i], occurrences = sums[i + 1] + sums[i + 2];
    if (occurrences == 0) continue;
    ++present;
    sum += 2 * right / occurrences;
  }
  return 100 * (present > 0 ? sum / present : 0);
}

std::string label_of(std::string_view line) {
  constexpr std::string_view byte_order_mark = "\uFEFF";
  if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  return std::string(without_blanks(line.substr(0, line.find('\t'))));
}

}  // namespace sixfold
