#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

struct ChrfOptions {
  int word_order = 0;  // 0: chrF2; 2: chrF2++, which counts words and pairs of words as well
  bool lowercase = false;
};

/// All that chrF needs to know of some sentences. Statistics add up: those of a corpus are the sum of its
/// sentences'.
struct ChrfStatistics {
  static constexpr size_t kCharacterOrders = 6;
  static constexpr size_t kWordOrders = 2;

  struct Counts {
    int64_t hypothesis = 0, reference = 0, matches = 0;
  };
  std::array<Counts, kCharacterOrders + kWordOrders>
      orders{};  // characters, then words; all 0 where not asked for

  ChrfStatistics& operator+=(const ChrfStatistics& other);
};

/// chrF (Popović, 2015) with n-grams of up to 6 characters and a recall that weighs twice as much as precision,
/// equal to sacreBLEU 2's to the last printed digit. White space does not count.
class Chrf {
 public:
  /// Throws an input error unless 0 <= word_order <= 2.
  explicit Chrf(ChrfOptions options = {});

  /// Counts one sentence against that of its references, at least one, which gives it the highest score. Throws
  /// an input error for invalid UTF-8.
  ChrfStatistics statistics(std::string_view hypothesis, std::span<const std::string> references) const;

  /// 0 to 100: the F score of precision and recall, each averaged over the orders that both sides have.
  double score(const ChrfStatistics& statistics) const;

  /// chrF2, chrF2+ or chrF2++.
  std::string name() const;

  /// What the score depends on, as sacreBLEU writes it:
  /// `nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:V`. `version` is this program's, not sacreBLEU's.
  std::string signature(size_t references, std::string_view version) const;

 private:
  ChrfOptions options_;
};

}  // namespace sixfold
