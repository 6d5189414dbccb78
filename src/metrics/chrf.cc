#include "metrics/chrf.h"

#include <deque>

#include "base/error.h"
#include "metrics/ngrams.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

using Ngrams = std::vector<NgramCounts>;  // of each order of characters, then of words

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
  std::vector<double> totals;  // number of n-grams of each order
};

Sentence::Sentence(std::string_view utf8, const ChrfOptions& options) {
  std::u32string text = decode_utf8(utf8);
  if (options.lowercase) text = to_lower(text);
  if (options.whitespace)
    characters = text;
  else
    for (const std::u32string_view word : split_words(text)) characters.append(word);
  std::vector<std::u32string_view> units;
  for (size_t i = 0; i < characters.size(); ++i) units.push_back(std::u32string_view(characters).substr(i, 1));
  for (int n = 1; n <= options.char_order; ++n) ngrams.push_back(count_ngrams(units, static_cast<size_t>(n)));
  words = split_punctuation(text);
  units = split_words(words);
  for (int n = 1; n <= options.word_order; ++n) ngrams.push_back(count_ngrams(units, static_cast<size_t>(n)));
  for (const NgramCounts& counts : ngrams) {
    int64_t sum = 0;
    for (const auto& [ngram, count] : counts) sum += count;
    totals.push_back(static_cast<double>(sum));
  }
}

std::vector<double> compare(const Sentence& hypothesis, const Sentence& reference) {
  std::vector<double> sums;
  for (size_t i = 0; i < reference.ngrams.size(); ++i) {
    // A reference that is too short for this order is ignored.
    if (reference.ngrams[i].empty())
      sums.insert(sums.end(), {0, 0, 0});
    else
      sums.insert(sums.end(), {hypothesis.totals[i], reference.totals[i],
                               static_cast<double>(count_matches(hypothesis.ngrams[i], reference.ngrams[i]))});
  }
  return sums;
}

}  // namespace

void visit(OptionVisitor& v, ChrfOptions& o) {
  v.field("char_order", o.char_order, "longest n-grams of chrF, in characters", between(1, 20));
  v.field("word_order", o.word_order, "longest n-grams of chrF, in words; 2: chrF++", between(0, 20));
  v.field("beta", o.beta, "how many times as much recall counts in chrF as precision", between(0, 1000));
  v.field("whitespace", o.whitespace, "count white space as characters in chrF");
  v.field(
      "eps_smoothing", o.eps_smoothing,
      "let chrF be the mean of all orders, as chrF++.py, NLTK and Moses do, not of those that both texts have");
}

Chrf::Chrf(ChrfOptions options) : options_(options) { check_ranges(options_); }

MetricStatistics Chrf::statistics(std::string_view output, std::span<const std::string> references) const {
  require(!references.empty(), "chrF needs at least one reference for each sentence");
  const Sentence sentence(output, options_);
  std::vector<double> best;
  double best_score = -1;
  for (const std::string& reference : references) {
    std::vector<double> candidate = compare(sentence, Sentence(reference, options_));
    const double candidate_score = score(candidate);
    if (candidate_score <= best_score) continue;
    best_score = candidate_score;
    best = std::move(candidate);
  }
  return {std::move(best)};
}

double Chrf::score(std::span<const double> sums, int64_t /*outputs*/) const {
  constexpr double epsilon = 1e-16;
  const double factor = options_.beta * options_.beta;
  double precision = 0, recall = 0, smoothed = 0;
  int both = 0;
  for (size_t i = 0; i < orders(); ++i) {
    const double hypothesis = sums[3 * i], reference = sums[3 * i + 1], matches = sums[3 * i + 2];
    const double p = hypothesis > 0 ? matches / hypothesis : epsilon;
    const double r = reference > 0 ? matches / reference : epsilon;
    const double denominator = factor * p + r;
    smoothed += denominator > 0 ? (1 + factor) * p * r / denominator : epsilon;
    if (hypothesis == 0 || reference == 0) continue;
    precision += p;
    recall += r;
    ++both;
  }
  if (options_.eps_smoothing) return 100 * smoothed / static_cast<double>(orders());
  if (precision + recall == 0) return 0;
  precision /= both;
  recall /= both;
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

std::vector<std::vector<double>> chrf_of_each(std::span<const std::string> texts,
                                              const std::function<void()>& between) {
  const ChrfOptions options;
  const Chrf metric(options);
  std::deque<Sentence> sentences;
  for (const std::string& text : texts) {
    between();
    sentences.emplace_back(text, options);
  }
  std::vector<std::vector<double>> scores(texts.size());
  for (size_t i = 0; i < sentences.size(); ++i)
    for (const Sentence& reference : sentences) {
      between();
      scores[i].push_back(metric.score(compare(sentences[i], reference)));
    }
  return scores;
}

std::string Chrf::name() const {
  return fmt::format("chrF{}{}", options_.beta, std::string(static_cast<size_t>(options_.word_order), '+'));
}

std::string Chrf::settings() const {
  return fmt::format("case:{}|eff:{}|nc:{}|nw:{}|space:{}", options_.lowercase ? "lc" : "mixed",
                     options_.eps_smoothing ? "no" : "yes", options_.char_order, options_.word_order,
                     options_.whitespace ? "yes" : "no");
}

}  // namespace sixfold
