#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/options.h"
#include "metrics/metric.h"

namespace sixfold {

struct TerOptions {
  bool normalized = false;     // split off punctuation, as mteval does
  bool no_punct = false;       // remove punctuation
  bool asian_support = false;  // both also for Chinese and Japanese
  bool case_sensitive = false;
};

/// The settings by the names that sacreBLEU has for them.
void visit(OptionVisitor& v, TerOptions& o);

/// TER (Snover et al., 2006), equal to that of sacreBLEU 2 to the last printed digit: edits for each 100 words
/// of the references (`translation_edits`). 0 is best; it can be above 100. Of several references that counts
/// which needs fewest edits, but their mean length. The sums are the edits and the lengths.
class Ter : public Metric {
 public:
  explicit Ter(TerOptions options = {}) : options_(options) {}

  size_t size() const override { return 2; }
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override;
  double score(std::span<const double> sums, int64_t outputs = 1) const override;
  std::string name() const override { return "TER"; }
  std::string settings() const override;

 private:
  TerOptions options_;
};

/// The words of a sentence as Tercom has them, separated by single spaces.
std::u32string tokenize_as_tercom(std::u32string_view sentence, const TerOptions& options);

}  // namespace sixfold
