#include "metrics/answers.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

/// Whether \w of Python's regular expressions matches a character: a letter or a number. (It also matches _,
/// which has been removed before.)
bool is_regex_word_character(char32_t c) {
  const auto type = u_charType(static_cast<UChar32>(c));
  return u_isalpha(static_cast<UChar32>(c)) || type == U_DECIMAL_DIGIT_NUMBER || type == U_LETTER_NUMBER ||
         type == U_OTHER_NUMBER;
}

/// Replaces the words a, an and the by spaces.
std::u32string without_articles(std::u32string_view text) {
  std::u32string out;
  for (size_t begin = 0; begin < text.size();) {
    if (!is_regex_word_character(text[begin])) {
      out.push_back(text[begin++]);
      continue;
    }
    size_t end = begin;
    while (end < text.size() && is_regex_word_character(text[end])) ++end;
    const std::u32string_view word = text.substr(begin, end - begin);
    const bool article = word == U"a" || word == U"an" || word == U"the";
    out += article ? std::u32string_view(U" ") : word;
    begin = end;
  }
  return out;
}

double f1_of(const std::u32string& hypothesis, const std::u32string& reference) {
  std::vector<std::u32string_view> found = split_words(hypothesis), right = split_words(reference), common;
  std::ranges::sort(found);
  std::ranges::sort(right);
  std::set_intersection(found.begin(), found.end(), right.begin(), right.end(), std::back_inserter(common));
  if (common.empty()) return 0;
  return 2 * static_cast<double>(common.size()) / static_cast<double>(found.size() + right.size());
}

/// The best score of an answer over the right answers. `score` gets the normal forms of both.
template <class Score>
MetricStatistics best_of(std::string_view output, std::span<const std::string> references, const Score& score) {
  require(!references.empty(), "there is no right answer to compare with");
  const std::u32string found = normalize_answer(output);
  double best = 0;
  for (const std::string& reference : references)
    best = std::max(best, score(found, normalize_answer(reference)));
  return {{best}};
}

/// The mean over the answers, in percent.
double mean_percent(double sum, int64_t answers) {
  return 100 * (answers > 0 ? sum / static_cast<double>(answers) : 0);
}

}  // namespace

std::u32string normalize_answer(std::string_view answer) {
  std::u32string text = to_lower(decode_utf8(answer));
  std::erase_if(text, is_ascii_punctuation);
  return normalize_spaces(without_articles(text));
}

MetricStatistics SquadExactMatch::statistics(std::string_view output,
                                             std::span<const std::string> references) const {
  return best_of(output, references, [](const std::u32string& found, const std::u32string& right) {
    return found == right ? 1.0 : 0.0;
  });
}

double SquadExactMatch::score(std::span<const double> sums, int64_t outputs) const {
  return mean_percent(sums[0], outputs);
}

MetricStatistics SquadF1::statistics(std::string_view output, std::span<const std::string> references) const {
  return best_of(output, references, f1_of);
}

double SquadF1::score(std::span<const double> sums, int64_t outputs) const {
  return mean_percent(sums[0], outputs);
}

}  // namespace sixfold
