#include "metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "metrics/ngrams.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

/// The logarithm of a precision of 0, large enough in magnitude to make the score 0; the value is sacreBLEU's.
double floored_log(double x) { return x == 0 ? -9999999999.0 : std::log(x); }

/// Whether `length` is closer to the length of the hypothesis than `best` is, or as close and shorter.
bool is_nearer(int64_t length, int64_t best, int64_t hypothesis) {
  const int64_t distance = std::abs(length - hypothesis), best_distance = std::abs(best - hypothesis);
  return distance < best_distance || (distance == best_distance && length < best);
}

}  // namespace

std::string BleuScore::details() const {
  const double ratio = reference_length > 0
                           ? static_cast<double>(hypothesis_length) / static_cast<double>(reference_length)
                           : 0.0;
  return fmt::format("{:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                     precisions[0], precisions[1], precisions[2], precisions[3], brevity_penalty, ratio,
                     hypothesis_length, reference_length);
}

std::u32string Bleu::words(std::string_view sentence) const {
  std::u32string text = decode_utf8(sentence);
  if (options_.lowercase) text = to_lower(text);
  return tokenize(text, options_.tokenizer);
}

MetricStatistics Bleu::statistics(std::string_view output, std::span<const std::string> references) const {
  require(!references.empty(), "BLEU needs at least one reference for each sentence");
  const std::u32string output_text = words(output);
  const auto output_words = split_words(output_text);
  std::vector<std::u32string> texts;  // complete before views of them are taken
  for (const std::string& reference : references) texts.push_back(words(reference));

  const auto length = std::ssize(output_words);
  int64_t nearest = 0;
  std::array<NgramCounts, kOrders> allowed;  // the maximum count of each n-gram in a reference
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto reference_words = split_words(texts[i]);
    if (i == 0 || is_nearer(std::ssize(reference_words), nearest, length))
      nearest = std::ssize(reference_words);
    for (size_t n = 0; n < allowed.size(); ++n)
      for (const auto& [ngram, count] : count_ngrams(reference_words, n + 1))
        allowed[n][ngram] = std::max(allowed[n][ngram], count);
  }
  std::vector<double> sums{static_cast<double>(length), static_cast<double>(nearest)};
  for (size_t n = 0; n < kOrders; ++n)
    sums.push_back(static_cast<double>(count_matches(count_ngrams(output_words, n + 1), allowed[n])));
  for (int64_t n = 0; n < std::ssize(allowed); ++n)
    sums.push_back(static_cast<double>(std::max<int64_t>(length - n, 0)));
  return {std::move(sums)};
}

double Bleu::smooth_value() const {
  return options_.smooth_value.value_or(options_.smoothing == BleuSmoothing::floor ? 0.1 : 1.0);
}

BleuScore Bleu::whole_score(std::span<const double> sums) const {
  BleuScore result;
  const double hypothesis_length = sums[0], reference_length = sums[1];
  const auto all_matches = sums.subspan(2, kOrders), totals = sums.subspan(2 + kOrders, kOrders);
  result.hypothesis_length = static_cast<int64_t>(hypothesis_length);
  result.reference_length = static_cast<int64_t>(reference_length);
  if (hypothesis_length < reference_length)
    result.brevity_penalty = hypothesis_length > 0 ? std::exp(1 - reference_length / hypothesis_length) : 0.0;
  if (std::ranges::all_of(all_matches, [](double count) { return count == 0; })) return result;

  const BleuSmoothing smoothing = options_.smoothing;
  double halvings = 1;
  size_t orders = kOrders;
  for (size_t n = 0; n < kOrders; ++n) {
    double matches = all_matches[n], total = totals[n];
    if (smoothing == BleuSmoothing::add_k && n > 0) {
      matches += smooth_value();
      total += smooth_value();
    }
    if (total == 0) break;
    if (options_.effective_order) orders = n + 1;
    result.precisions[n] = 100 * matches / total;
    if (matches > 0) continue;
    switch (smoothing) {
      case BleuSmoothing::exponential:
        result.precisions[n] = 100 / ((halvings *= 2) * total);
        break;
      case BleuSmoothing::floor:
        result.precisions[n] = 100 * smooth_value() / total;
        break;
      case BleuSmoothing::add_k:
      case BleuSmoothing::none:
        break;
    }
  }
  double log_sum = 0;
  for (size_t n = 0; n < orders; ++n) log_sum += floored_log(result.precisions[n]);
  result.score = result.brevity_penalty * std::exp(log_sum / static_cast<double>(orders));
  return result;
}

double Bleu::score(std::span<const double> sums, int64_t /*outputs*/) const { return whole_score(sums).score; }

std::string Bleu::details(std::span<const double> sums) const { return whole_score(sums).details(); }

std::string Bleu::settings() const {
  std::string smooth(name_of_enum(options_.smoothing));
  if (options_.smoothing == BleuSmoothing::floor || options_.smoothing == BleuSmoothing::add_k)
    smooth += fmt::format("[{:.2f}]", smooth_value());
  return fmt::format("case:{}|eff:{}|tok:{}|smooth:{}", options_.lowercase ? "lc" : "mixed",
                     options_.effective_order ? "yes" : "no", name_of_enum(options_.tokenizer), smooth);
}

}  // namespace sixfold
