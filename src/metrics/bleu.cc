#include "metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/join.h"
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
  std::vector<std::string> shown;
  for (const double precision : precisions) shown.push_back(fmt::format("{:.1f}", precision));
  return fmt::format("{} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", join(shown, "/"),
                     brevity_penalty, ratio, hypothesis_length, reference_length);
}

void visit(OptionVisitor& v, BleuOptions& o) {
  v.field("tokenize", o.tokenizer,
          "how BLEU splits text into words: 13a, none (at spaces alone), char, intl, zh, ja-mecab or spm");
  v.field("spm_model", o.spm_model, "file of the SentencePiece model with which spm splits text");
  v.field("smooth_method", o.smoothing,
          "smoothing of BLEU if no n-gram of an order matches: exp, floor, add-k or none");
  v.field("smooth_value", o.smooth_value, "constant of the smoothing: of floor [0.1] and add-k [1]",
          at_least(0));
  v.field("max_ngram_order", o.max_ngram_order, "longest n-grams of BLEU, in words", between(1, 20));
  v.field("effective_order", o.effective_order,
          "leave out the orders of n-grams that are longer than all translations, for single sentences");
}

Bleu::Bleu(BleuOptions options) : options_(std::move(options)) {
  check_ranges(options_);
  require((options_.tokenizer == BleuTokenizer::spm) == !options_.spm_model.empty(),
          "BLEU: spm_model and tokenize spm belong together: the tokenizer {} {}",
          name_of_enum(options_.tokenizer), options_.spm_model.empty() ? "needs a model" : "has no model");
  if (options_.tokenizer == BleuTokenizer::spm) model_ = load_spm_tokenizer(options_.spm_model);
  if (options_.tokenizer == BleuTokenizer::ja_mecab) model_ = load_mecab_tokenizer();
}

std::u32string Bleu::words(std::string_view sentence) const {
  std::u32string text = decode_utf8(sentence);
  if (options_.lowercase) text = to_lower(text);
  return model_ ? model_->tokenize(text) : tokenize(text, options_.tokenizer);
}

MetricStatistics Bleu::statistics(std::string_view output, std::span<const std::string> references) const {
  require(!references.empty(), "BLEU needs at least one reference for each sentence");
  const std::u32string output_text = words(output);
  const auto output_words = split_words(output_text);
  std::vector<std::u32string> texts;  // all references are added before views of them are taken
  for (const std::string& reference : references) texts.push_back(words(reference));

  const auto length = std::ssize(output_words);
  int64_t nearest = 0;
  std::vector<NgramCounts> allowed(orders());  // the maximum count of each n-gram in a reference
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto reference_words = split_words(texts[i]);
    if (i == 0 || is_nearer(std::ssize(reference_words), nearest, length))
      nearest = std::ssize(reference_words);
    for (size_t n = 0; n < allowed.size(); ++n)
      for (const auto& [ngram, count] : count_ngrams(reference_words, n + 1))
        allowed[n][ngram] = std::max(allowed[n][ngram], count);
  }
  std::vector<double> sums{static_cast<double>(length), static_cast<double>(nearest)};
  for (size_t n = 0; n < orders(); ++n)
    sums.push_back(static_cast<double>(count_matches(count_ngrams(output_words, n + 1), allowed[n])));
  for (int64_t n = 0; n < std::ssize(allowed); ++n)
    sums.push_back(static_cast<double>(std::max<int64_t>(length - n, 0)));
  return {std::move(sums)};
}

double Bleu::smooth_value() const {
  return options_.smooth_value.value_or(options_.smoothing == BleuSmoothing::floor ? 0.1 : 1.0);
}

BleuScore Bleu::whole_score(std::span<const double> sums) const {
  BleuScore result{.precisions = std::vector<double>(orders())};
  const double hypothesis_length = sums[0], reference_length = sums[1];
  const auto all_matches = sums.subspan(2, orders()), totals = sums.subspan(2 + orders(), orders());
  result.hypothesis_length = static_cast<int64_t>(hypothesis_length);
  result.reference_length = static_cast<int64_t>(reference_length);
  if (hypothesis_length < reference_length)
    result.brevity_penalty = hypothesis_length > 0 ? std::exp(1 - reference_length / hypothesis_length) : 0.0;
  if (std::ranges::all_of(all_matches, [](double count) { return count == 0; })) return result;

  const BleuSmoothing smoothing = options_.smoothing;
  double halvings = 1;
  size_t scored = orders();
  for (size_t n = 0; n < orders(); ++n) {
    double matches = all_matches[n], total = totals[n];
    if (smoothing == BleuSmoothing::add_k && n > 0) {
      matches += smooth_value();
      total += smooth_value();
    }
    if (total == 0) break;
    if (options_.effective_order) scored = n + 1;
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
  for (size_t n = 0; n < scored; ++n) log_sum += floored_log(result.precisions[n]);
  result.score = result.brevity_penalty * std::exp(log_sum / static_cast<double>(scored));
  return result;
}

double Bleu::score(std::span<const double> sums, int64_t /*outputs*/) const { return whole_score(sums).score; }

std::string Bleu::details(std::span<const double> sums) const { return whole_score(sums).details(); }

std::string Bleu::settings() const {
  std::string smooth(name_of_enum(options_.smoothing));
  if (options_.smoothing == BleuSmoothing::floor || options_.smoothing == BleuSmoothing::add_k)
    smooth += fmt::format("[{:.2f}]", smooth_value());
  return fmt::format("case:{}|eff:{}|tok:{}|smooth:{}", options_.lowercase ? "lc" : "mixed",
                     options_.effective_order ? "yes" : "no",
                     model_ ? model_->signature() : name_of_enum(options_.tokenizer), smooth);
}

}  // namespace sixfold
