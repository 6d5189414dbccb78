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
/// of the references (`translation_edits`). 0 is best; it can be above 100. With several references, the number
/// of edits is that of the reference with the fewest, and the length is the mean of all lengths. The sums are
/// the edits and the lengths.
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

/// The number of edits by which a translation becomes a reference: words that are inserted, deleted or
/// replaced, and shifts of a block of words, each of which is one edit (Snover et al. 2006, "A Study of
/// Translation Edit Rate with Targeted Human Annotation"). Words are given as
/// numbers from 0 on; equal words have the same number. Shifts are found by the greedy search and the limits of
/// Tercom as sacreBLEU 2 has them, so that the number is the same: blocks of at most 10 words, moved by at most
/// about 50 places, at most about 1,000 attempts, and distances of edits near the diagonal alone. Takes time
/// and memory in proportion to the number of words.
int64_t translation_edits(std::span<const uint32_t> translation, std::span<const uint32_t> reference);

}  // namespace sixfold
