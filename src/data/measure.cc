#include "data/measure.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "base/file.h"
#include "base/hash.h"
#include "data/repeats.h"

namespace sixfold {
namespace {

int64_t count_words(const std::string& text) {
  std::istringstream words(text);
  int64_t count = 0;
  for (std::string word; words >> word;) ++count;
  return count;
}

/// Measures pairs in words, by the rules that `encode_pairs` applies to tokens.
void measure_words(PairReader& reader, const EncodeOptions& options, RepeatFinder& repeats,
                   CorpusReport& report) {
  for (std::string source, target; reader.next(source, target);) {
    const int64_t source_words = count_words(source), target_words = count_words(target);
    const int64_t longer = std::max(source_words, target_words), shorter = std::min(source_words, target_words);
    if (shorter == 0) {
      ++report.empty;
    } else if (options.max_length > 0 && longer > options.max_length) {
      ++report.too_long;
    } else if (options.max_ratio > 0 &&
               static_cast<double>(longer) > options.max_ratio * static_cast<double>(shorter)) {
      ++report.uneven;
    } else {
      report.measure(source_words, target_words);
      repeats.add(hash_of(std::as_bytes(std::span(source)), hash_of(std::as_bytes(std::span(target)))));
    }
  }
}

}  // namespace

CorpusReport measure_corpus(const std::vector<CorpusFiles>& files, const std::optional<Tokenizers>& tokenizers,
                            const MeasureOptions& options) {
  PairReader reader(files, options.invalid);
  RepeatFinder repeats(temporary_folder());
  CorpusReport report;
  if (tokenizers)
    encode_pairs([&](std::string& source, std::string& target) { return reader.next(source, target); },
                 *tokenizers, options.encode, report,
                 [&](int64_t, auto source, auto target) {
                   repeats.add(hash_of(std::as_bytes(source), hash_of(std::as_bytes(target))));
                 });
  else
    measure_words(reader, options.encode, repeats, report);
  report.read = reader.report().read;
  report.empty += reader.report().empty;
  report.invalid += reader.report().invalid;
  report.replaced += reader.report().replaced;
  const auto repeated =
      repeats.find([](int64_t, int64_t) { return true; });  // equal 64-bit hashes are taken for equal pairs
  report.repeats = std::count(repeated.begin(), repeated.end(), true);
  return report;
}

int64_t quantile(const std::vector<int64_t>& histogram, double part) {
  const auto all = static_cast<double>(std::accumulate(histogram.begin(), histogram.end(), int64_t{0}));
  int64_t sum = 0;
  for (size_t i = 0; i < histogram.size(); ++i) {
    sum += histogram[i];
    if (sum > 0 && static_cast<double>(sum) >= part * all) return static_cast<int64_t>(i);
  }
  return 0;
}

}  // namespace sixfold
