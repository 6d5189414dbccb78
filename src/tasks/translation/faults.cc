#include "tasks/translation/faults.h"

#include <algorithm>

#include "base/ascii.h"
#include "data/check/pair_faults.h"
#include "search/hypothesis.h"
#include "text/words.h"

namespace sixfold {
namespace {

/// Whether a text is long enough that a copy of it is hardly a correct translation.
bool is_to_be_translated(const std::string& text) {
  constexpr size_t min_words = 4, min_letter_bytes = 24;
  if (count_words(text) >= min_words) return !letters_of(text).empty();
  return std::ranges::none_of(text, is_ascii_letter) && letters_of(text).size() >= min_letter_bytes;
}

bool is_far_longer(size_t length, size_t source_length, size_t margin) {
  return length > 2 * source_length + margin;
}

}  // namespace

TranslationFaults faults_of(const TextAndTokens& source, const TextAndTokens& translation) {
  return {.loops = ends_in_a_loop(translation.ids),
          .copies = is_to_be_translated(source.text) &&
                    comparison_form(source.text) == comparison_form(translation.text),
          .too_long = is_far_longer(translation.ids.size(), source.ids.size(), 10) &&
                      is_far_longer(translation.text.size(), source.text.size(), 40)};
}

}  // namespace sixfold
