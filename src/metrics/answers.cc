#include "metrics/answers.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "metrics/unicode.h"

namespace sixfold {
namespace {

/// A character of a word for Python's regular expressions: a letter, a number, or _, which is gone by now.
bool is_of_word(char32_t c) {
  const auto type = u_charType(static_cast<UChar32>(c));
  return u_isalpha(static_cast<UChar32>(c)) || type == U_DECIMAL_DIGIT_NUMBER || type == U_LETTER_NUMBER ||
         type == U_OTHER_NUMBER;
}

/// Replaces the words a, an and the by spaces.
std::u32string without_articles(std::u32string_view text) {
  std::u32string out;
  for (size_t begin = 0; begin < text.size();) {
    if (!is_of_word(text[begin])) {
      out.push_back(text[begin++]);
      continue;
    }
    size_t end = begin;
    while (end < text.size() && is_of_word(text[end])) ++end;
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

}  // namespace

AnswerStatistics& AnswerStatistics::operator+=(const AnswerStatistics& other) {
  questions += other.questions;
  exact += other.exact;
  f1 += other.f1;
  return *this;
}

double AnswerStatistics::exact_match() const {
  return questions > 0 ? static_cast<double>(exact) / static_cast<double>(questions) : 0;
}

double AnswerStatistics::mean_f1() const { return questions > 0 ? f1 / static_cast<double>(questions) : 0; }

std::u32string normalize_answer(std::string_view answer) {
  std::u32string text = to_lower(decode_utf8(answer));
  std::erase_if(text, is_ascii_punctuation);
  return normalize_spaces(without_articles(text));
}

AnswerStatistics AnswerMetric::statistics(std::string_view hypothesis,
                                          std::span<const std::string> references) const {
  require(!references.empty(), "there is no right answer to compare with");
  const std::u32string found = normalize_answer(hypothesis);
  AnswerStatistics best{.questions = 1};
  for (const std::string& reference : references) {
    const std::u32string right = normalize_answer(reference);
    if (found == right) best.exact = 1;
    best.f1 = std::max(best.f1, f1_of(found, right));
  }
  return best;
}

}  // namespace sixfold
