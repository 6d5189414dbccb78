#include "metrics/chrf.h"

#include <array>

#include "base/error.h"
#include "metrics/ngrams.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

constexpr int kBeta = 2;

using Ngrams = std::array<NgramCounts, Chrf::kOrders>;

/// Separates one punctuation character from a word, at its end or else at its beginning ("(hi)" -> "(hi )").
std::u32string split_punctuation(std::u32string_view text) {
  std::u32string out;
  for (const std::u32string_view word : split_words(text)) {
    const size_t last = word.size() - 1;
    size_t cut = 0;
    if (is_ascii_punctuation(word.back()))
      cut = last;
    else if (is_ascii_punctuation(word.front()))
      cut = 1;
    out.append(word.substr(0, cut)).append(U" ").append(word.substr(cut)).append(U" ");
  }
  return normalize_spaces(out);
}

/// A sentence and its n-grams, which are views of it.
struct Sentence {
  Sentence(std::string_view utf8, const ChrfOptions& options);
  Sentence(const Sentence&) = delete;

  std::u32string characters, words;
  Ngrams ngrams;
};

Sentence::Sentence(std::string_view utf8, const ChrfOptions& options) {
  std::u32string text = decode_utf8(utf8);
  if (options.lowercase) text = to_lower(text);
  for (const std::u32string_view word : split_words(text)) characters.append(word);
  std::vector<std::u32string_view> units;
  for (size_t i = 0; i < characters.size(); ++i) units.push_back(std::u32string_view(characters).substr(i, 1));
  for (size_t n = 0; n < Chrf::kCharacterOrders; ++n) ngrams[n] = count_ngrams(units, n + 1);
  words = split_punctuation(text);
  units = split_words(words);
  for (int n = 0; n < options.word_order; ++n) ngrams[Chrf::kCharacterOrders + n] = count_ngrams(units, n + 1);
}

double total(const NgramCounts& counts) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : counts) sum += count;
  return static_cast<double>(sum);
}

std::vector<double> compare(const Ngrams& hypothesis, const Ngrams& reference) {
  std::vector<double> sums;
  for (size_t i = 0; i < Chrf::kOrders; ++i) {
    // A reference that is too short for this order is ignored.
    if (reference[i].empty())
      sums.insert(sums.end(), {0, 0, 0});
    else
      sums.insert(sums.end(), {total(hypothesis[i]), total(reference[i]),
                               static_cast<double>(count_matches(hypothesis[i], reference[i]))});
  }
  return sums;
}

}  // namespace

Chrf::Chrf(ChrfOptions options) : options_(options) {
  require(options.word_order >= 0 && options.word_order <= static_cast<int>(Chrf::kWordOrders),
          "chrF: word_order must be from 0 to {}, not {}; use 0 (chrF2) or 2 (chrF2++)", Chrf::kWordOrders,
          options.word_order);
}

MetricStatistics Chrf::statistics(std::string_view output, std::span<const std::string> references) const {
  require(!references.empty(), "chrF needs at least one reference for each sentence");
  const Sentence sentence(output, options_);
  std::vector<double> best;
  double best_score = -1;
  for (const std::string& reference : references) {
    std::vector<double> candidate = compare(sentence.ngrams, Sentence(reference, options_).ngrams);
    const double candidate_score = score(candidate);
    if (candidate_score <= best_score) continue;
    best_score = candidate_score;
    best = std::move(candidate);
  }
  return {std::move(best)};
}

double Chrf::score(std::span<const double> sums, int64_t /*outputs*/) const {
  double precision = 0, recall = 0;
  int orders = 0;
  for (size_t i = 0; i < kOrders; ++i) {
    const double hypothesis = sums[3 * i], reference = sums[3 * i + 1], matches = sums[3 * i + 2];
    if (hypothesis == 0 || reference == 0) continue;
    precision += matches / hypothesis;
    recall += matches / reference;
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  constexpr double factor = kBeta * kBeta;
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

std::string Chrf::settings() const {
  return fmt::format("case:{}|eff:yes|nc:{}|nw:{}|space:no", options_.lowercase ? "lc" : "mixed",
                     kCharacterOrders, options_.word_order);
}

}  // namespace sixfold
