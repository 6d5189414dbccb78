#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/options.h"
#include "metrics/metric.h"

namespace sixfold {

struct ChrfOptions {
  int char_order = 6;
  int word_order = 0;  // 2: chrF++, which also counts words and pairs of words
  int beta = 2;        // how many times as much recall counts as precision
  bool whitespace = false;
  bool eps_smoothing = false;
  bool lowercase = false;
};

/// The settings by the names that sacreBLEU has for them, without `lowercase`.
void visit(OptionVisitor& v, ChrfOptions& o);

/// chrF (Popović, 2015), equal to that of sacreBLEU 2 to the last printed digit, from 0 to 100: the F score of
/// precision and recall, each averaged over the orders that both sides have; or, with `eps_smoothing`, the mean
/// F score of all orders, where an order that a side lacks scores almost 0. White space is ignored unless
/// `whitespace` is set. Of several references, the one with the highest score is used.
/// The sums are, for each order, the n-grams of outputs, of references, and those in both: first the orders of
/// characters, then those of words.
class Chrf : public Metric {
 public:
  /// Throws an input error if an option is out of range.
  explicit Chrf(ChrfOptions options = {});

  size_t size() const override { return 3 * orders(); }
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override;
  double score(std::span<const double> sums, int64_t outputs = 1) const override;
  std::string name() const override;
  std::string settings() const override;

 private:
  size_t orders() const {
    return static_cast<size_t>(options_.char_order) + static_cast<size_t>(options_.word_order);
  }

  ChrfOptions options_;
};

/// The chrF of each text with each text as its reference, [text][reference], with the default options. Calls
/// `between` repeatedly; it may throw to cancel the computation.
std::vector<std::vector<double>> chrf_of_each(std::span<const std::string> texts,
                                              const std::function<void()>& between);

}  // namespace sixfold
