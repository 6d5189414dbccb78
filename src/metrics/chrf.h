#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

struct ChrfOptions {
  int word_order = 0;  // 0: chrF2; 2: chrF2++, which also counts words and pairs of words
  bool lowercase = false;
};

/// The statistics from which chrF is computed. Those of a corpus are the sum of those of its sentences.
struct ChrfStatistics {
  static constexpr size_t kCharacterOrders = 6;
  static constexpr size_t kWordOrders = 2;

  struct Counts {
    int64_t hypothesis = 0, reference = 0, matches = 0;
  };
  std::array<Counts, kCharacterOrders + kWordOrders> orders{};  // characters, then words; 0 for unused orders

  ChrfStatistics& operator+=(const ChrfStatistics& other);
};

/// chrF (Popović, 2015) with n-grams of up to 6 characters and beta = 2, equal to that of sacreBLEU 2 to the
/// last printed digit. White space is ignored. Any number of threads may use one object at once.
class Chrf {
 public:
  /// Throws an input error unless 0 <= word_order <= 2.
  explicit Chrf(ChrfOptions options = {});

  /// The statistics of one sentence and the reference that gives it the highest score. There must be at least
  /// one reference. Throws an input error for invalid UTF-8.
  ChrfStatistics statistics(std::string_view hypothesis, std::span<const std::string> references) const;

  /// The score, from 0 to 100: the F score of precision and recall, each averaged over the orders that both
  /// sides have.
  double score(const ChrfStatistics& statistics) const;

  /// The name of the metric: chrF2, chrF2+ or chrF2++.
  std::string name() const;

  /// The settings of the score in sacreBLEU's format:
  /// `nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:V`. `version` is this program's, not sacreBLEU's.
  std::string signature(size_t references, std::string_view version) const;

 private:
  ChrfOptions options_;
};

}  // namespace sixfold
