#include "tasks/translation/faults.h"

#include <algorithm>

#include "data/check/pair_faults.h"
#include "search/hypothesis.h"

namespace sixfold {
namespace {

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
