#pragma once
#include <span>
#include <string>
#include <string_view>

#include "metrics/metric.h"

namespace sixfold {

struct ChrfOptions {
  int word_order = 0;  // 0: chrF2; 2: chrF2++, which also counts words and pairs of words
  bool lowercase = false;
};

/// chrF (Popović, 2015) with n-grams of up to 6 characters and beta = 2, equal to that of sacreBLEU 2 to the
/// last printed digit, from 0 to 100: the F score of precision and recall, each averaged over the orders that
/// both sides have. White space is ignored. Of several references that counts which gives the highest score.
/// The sums are, for each order, the n-grams of outputs, of references, and those in both: first the orders of
/// characters, then those of words.
class Chrf : public Metric {
 public:
  static constexpr size_t kCharacterOrders = 6;
  static constexpr size_t kWordOrders = 2;
  static constexpr size_t kOrders = kCharacterOrders + kWordOrders;  ///< n-grams of unused orders are 0

  /// Throws an input error unless 0 <= word_order <= 2.
  explicit Chrf(ChrfOptions options = {});

  size_t size() const override { return 3 * kOrders; }
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override;
  double score(std::span<const double> sums, int64_t outputs = 1) const override;
  std::string settings() const override;

 private:
  ChrfOptions options_;
};

}  // namespace sixfold
