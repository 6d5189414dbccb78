#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/options.h"
#include "metrics/bleu_tokenizers.h"

namespace sixfold {

/// What BLEU does where no n-gram of an order matches (Chen and Cherry, 2014, methods 3, 1, 2 and none):
/// `exponential` counts 1/2, 1/4, ... for each order in turn; `floor` counts a constant; `add_k` adds a
/// constant to the counts of every order but the first; `none` lets the score be 0.
enum class BleuSmoothing { exponential, floor, add_k, none };

/// sacreBLEU's names.
template <>
struct EnumNames<BleuSmoothing> {
  static constexpr std::pair<BleuSmoothing, std::string_view> names[] = {{BleuSmoothing::exponential, "exp"},
                                                                         {BleuSmoothing::floor, "floor"},
                                                                         {BleuSmoothing::add_k, "add-k"},
                                                                         {BleuSmoothing::none, "none"}};
};

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::v13a;
  BleuSmoothing smoothing = BleuSmoothing::exponential;
  std::optional<double> smooth_value{};  // the constant of `floor` (0.1 unless given) and `add_k` (1)
  bool lowercase = false;
  bool effective_order = false;  // for single sentences: leave out orders that they are too short for
};

/// All that BLEU needs to know of some sentences. Statistics add up: those of a corpus are the sum of its
/// sentences'.
struct BleuStatistics {
  static constexpr size_t kOrders = 4;

  int64_t hypothesis_length = 0;           // words
  int64_t reference_length = 0;            // words, of each sentence's reference nearest in length
  std::array<int64_t, kOrders> matches{};  // hypothesis n-grams that a reference has too, by order
  std::array<int64_t, kOrders> totals{};   // hypothesis n-grams

  BleuStatistics& operator+=(const BleuStatistics& other);
};

struct BleuScore {
  double score = 0;  // 0 to 100
  std::array<double, BleuStatistics::kOrders> precisions{};
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0;
  int64_t reference_length = 0;

  /// As sacreBLEU: `70.1/45.2/30.1/20.0 (BP = 1.000 ratio = 1.001 hyp_len = 1201 ref_len = 1200)`.
  std::string details() const;
};

/// BLEU (Papineni et al., 2002), equal to sacreBLEU 2's to the last printed digit.
class Bleu {
 public:
  explicit Bleu(BleuOptions options = {}) : options_(options) {}

  /// Counts one sentence against its references, at least one. Throws an input error for invalid UTF-8.
  BleuStatistics statistics(std::string_view hypothesis, std::span<const std::string> references) const;

  BleuScore score(const BleuStatistics& statistics) const;

  /// What the score depends on, as sacreBLEU writes it:
  /// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:V`. `version` is this program's, not sacreBLEU's.
  std::string signature(size_t references, std::string_view version) const;

 private:
  std::u32string words(std::string_view sentence) const;
  double smooth_value() const;

  BleuOptions options_;
};

}  // namespace sixfold
