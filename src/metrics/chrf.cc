#include "metrics/chrf.h"

#include "base/error.h"
#include "metrics/ngrams.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

constexpr int kBeta = 2;

using Ngrams = std::array<NgramCounts, std::tuple_size_v<decltype(ChrfStatistics::orders)>>;

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
  for (size_t n = 0; n < ChrfStatistics::kCharacterOrders; ++n) ngrams[n] = count_ngrams(units, n + 1);
  words = split_punctuation(text);
  units = split_words(words);
  for (int n = 0; n < options.word_order; ++n)
    ngrams[ChrfStatistics::kCharacterOrders + n] = count_ngrams(units, n + 1);
}

int64_t total(const NgramCounts& counts) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : counts) sum += count;
  return sum;
}

ChrfStatistics compare(const Ngrams& hypothesis, const Ngrams& reference) {
  ChrfStatistics result;
  for (size_t i = 0; i < result.orders.size(); ++i) {
    // A reference that is too short for this order is ignored.
    if (reference[i].empty()) continue;
    result.orders[i] = {total(hypothesis[i]), total(reference[i]), count_matches(hypothesis[i], reference[i])};
  }
  return result;
}

}  // namespace

ChrfStatistics& ChrfStatistics::operator+=(const ChrfStatistics& other) {
  for (size_t i = 0; i < orders.size(); ++i) {
    orders[i].hypothesis += other.orders[i].hypothesis;
    orders[i].reference += other.orders[i].reference;
    orders[i].matches += other.orders[i].matches;
  }
  return *this;
}

Chrf::Chrf(ChrfOptions options) : options_(options) {
  require(options.word_order >= 0 && options.word_order <= static_cast<int>(ChrfStatistics::kWordOrders),
          "chrF: word_order must be from 0 to {}, not {}; use 0 (chrF2) or 2 (chrF2++)",
          ChrfStatistics::kWordOrders, options.word_order);
}

ChrfStatistics Chrf::statistics(std::string_view hypothesis, std::span<const std::string> references) const {
  require(!references.empty(), "chrF needs at least one reference for each sentence");
  const Sentence sentence(hypothesis, options_);
  ChrfStatistics best;
  double best_score = -1;
  for (const std::string& reference : references) {
    const ChrfStatistics candidate = compare(sentence.ngrams, Sentence(reference, options_).ngrams);
    const double candidate_score = score(candidate);
    if (candidate_score <= best_score) continue;
    best_score = candidate_score;
    best = candidate;
  }
  return best;
}

double Chrf::score(const ChrfStatistics& statistics) const {
  double precision = 0, recall = 0;
  int orders = 0;
  for (const auto& counts : statistics.orders) {
    if (counts.hypothesis == 0 || counts.reference == 0) continue;
    precision += static_cast<double>(counts.matches) / static_cast<double>(counts.hypothesis);
    recall += static_cast<double>(counts.matches) / static_cast<double>(counts.reference);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  constexpr double factor = kBeta * kBeta;
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

std::string Chrf::name() const {
  return fmt::format("chrF{}{}", kBeta, std::string(static_cast<size_t>(options_.word_order), '+'));
}

std::string Chrf::signature(size_t references, std::string_view version) const {
  return fmt::format("nrefs:{}|case:{}|eff:yes|nc:{}|nw:{}|space:no|version:{}", references,
                     options_.lowercase ? "lc" : "mixed", ChrfStatistics::kCharacterOrders, options_.word_order,
                     version);
}

}  // namespace sixfold
