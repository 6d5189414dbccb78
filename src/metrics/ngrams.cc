#include "metrics/ngrams.h"

#include <algorithm>

namespace sixfold {

NgramCounts count_ngrams(const std::vector<std::u32string_view>& units, size_t order) {
  NgramCounts counts;
  for (size_t i = 0; i + order <= units.size(); ++i) {
    const char32_t* begin = units[i].data();
    const char32_t* end = units[i + order - 1].data() + units[i + order - 1].size();
    ++counts[{begin, static_cast<size_t>(end - begin)}];
  }
  return counts;
}

int64_t count_matches(const NgramCounts& a, const NgramCounts& b) {
  int64_t matches = 0;
  for (const auto& [ngram, count] : a)
    if (const auto found = b.find(ngram); found != b.end()) matches += std::min(count, found->second);
  return matches;
}

}  // namespace sixfold
