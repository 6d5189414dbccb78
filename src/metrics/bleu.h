#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"
#include "metrics/bleu_tokenizers.h"
#include "metrics/metric.h"

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
  std::string spm_model{};  // the file of the SentencePiece model of `BleuTokenizer::spm`
  BleuSmoothing smoothing = BleuSmoothing::exponential;
  std::optional<double> smooth_value{};  // the constant of `floor` (default 0.1) and `add_k` (default 1)
  int max_ngram_order = 4;
  bool effective_order = false;  // for single sentences: ignore orders longer than the sentence
  bool lowercase = false;
};

/// The settings by the names that sacreBLEU has for them, without `lowercase`.
void visit(OptionVisitor& v, BleuOptions& o);

struct BleuScore {
  double score = 0;                  // 0 to 100
  std::vector<double> precisions{};  // of each order
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0;
  int64_t reference_length = 0;

  /// The details in sacreBLEU's format: `70.1/45.2/30.1/20.0 (BP = 1.000 ratio = 1.001 hyp_len = 1201 ref_len =
  /// 1200)`.
  std::string details() const;
};

/// BLEU (Papineni et al., 2002), equal to that of sacreBLEU 2 to the last printed digit. The sums are: the
/// number of words of outputs; the number of words of the references nearest in length; for each order, the
/// number of n-grams of outputs that are also in a reference; for each order, the number of n-grams of outputs.
class Bleu : public Metric {
 public:
  /// Throws an input error if an option is out of range or the SentencePiece model can't be read, and an
  /// environment error if MeCab, which the options ask for, is not installed.
  explicit Bleu(BleuOptions options = {});

  size_t size() const override { return 2 + 2 * orders(); }
  MetricStatistics statistics(std::string_view output, std::span<const std::string> references) const override;
  double score(std::span<const double> sums, int64_t outputs = 1) const override;
  std::string name() const override { return "BLEU"; }
  std::string details(std::span<const double> sums) const override;
  std::string settings() const override;

  /// The score with its components.
  BleuScore whole_score(std::span<const double> sums) const;

 private:
  size_t orders() const { return static_cast<size_t>(options_.max_ngram_order); }
  std::u32string words(std::string_view sentence) const;
  double smooth_value() const;

  BleuOptions options_;
  std::shared_ptr<const ModelTokenizer> model_;  // null: the tokenizer has none
};

}  // namespace sixfold
