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

/// The smoothing of BLEU if no n-gram of an order matches (Chen and Cherry, 2014, methods 3, 1, 2 and none):
/// `exponential` counts 1/2, 1/4, ... matches for these orders in turn; `floor` counts a constant; `add_k` adds
/// a constant to the counts of every order except the first; with `none` the score is 0.
enum class BleuSmoothing { exponential, floor, add_k, none };

/// The names in sacreBLEU.
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
  std::optional<double> smooth_value{};  // the constant of `floor` (default 0.1) and `add_k` (default 1)
  bool lowercase = false;
  bool effective_order = false;  // for single sentences: ignore orders longer than the sentence
};

/// The statistics from which BLEU is computed. Those of a corpus are the sum of those of its sentences.
struct BleuStatistics {
  static constexpr size_t kOrders = 4;

  int64_t hypothesis_length = 0;           // words
  int64_t reference_length = 0;            // words of the reference nearest in length, summed over sentences
  std::array<int64_t, kOrders> matches{};  // n-grams of the hypothesis that are also in a reference, by order
  std::array<int64_t, kOrders> totals{};   // n-grams of the hypothesis, by order

  BleuStatistics& operator+=(const BleuStatistics& other);
};

struct BleuScore {
  double score = 0;  // 0 to 100
  std::array<double, BleuStatistics::kOrders> precisions{};
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0;
  int64_t reference_length = 0;

  /// The details in sacreBLEU's format: `70.1/45.2/30.1/20.0 (BP = 1.000 ratio = 1.001 hyp_len = 1201 ref_len =
  /// 1200)`.
  std::string details() const;
};

/// BLEU (Papineni et al., 2002), equal to that of sacreBLEU 2 to the last printed digit. Any number of threads
/// may use one object at once.
class Bleu {
 public:
  explicit Bleu(BleuOptions options = {}) : options_(options) {}

  /// The statistics of one sentence and its references, of which there must be at least one. Throws an input
  /// error for invalid UTF-8.
  BleuStatistics statistics(std::string_view hypothesis, std::span<const std::string> references) const;

  /// The score of the sentences with these statistics.
  BleuScore score(const BleuStatistics& statistics) const;

  /// The settings of the score in sacreBLEU's format:
  /// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:V`. `version` is this program's, not sacreBLEU's.
  std::string signature(size_t references, std::string_view version) const;

 private:
  std::u32string words(std::string_view sentence) const;
  double smooth_value() const;

  BleuOptions options_;
};

}  // namespace sixfold
