#include "data/demo_corpus.h"

#include <unordered_set>

#include "base/error.h"
#include "data/demo_sampler.h"

namespace sixfold::demo {

Corpus make_corpus(const CorpusOptions& options) {
  require(options.train > 0, "the demo corpus needs at least 1 training pair, not {}", options.train);
  require(options.valid >= 0 && options.test >= 0,
          "the numbers of validation and test pairs can't be negative ({}, {})", options.valid, options.test);
  int64_t wanted = int64_t{options.train} + options.valid + options.test;
  require(
      wanted <= most_pairs,
      "{} pairs were requested (training {}, validation {}, held out {}), but the demo grammar has only {}; "
      "request fewer",
      wanted, options.train, options.valid, options.test, most_pairs);
  Corpus corpus;
  Sampler sampler(options.seed);
  std::unordered_set<std::string> seen_english, seen_german;
  auto fill = [&](std::vector<SentencePair>& part, int count) {
    while (static_cast<int>(part.size()) < count) {
      Sentence sentence = sampler.draw();
      SentencePair pair = {english(sentence), german(sentence)};
      if (seen_english.contains(pair.english) || seen_german.contains(pair.german)) continue;
      seen_english.insert(pair.english);
      seen_german.insert(pair.german);
      part.push_back(std::move(pair));
    }
  };
  // The held-out parts come first, so that they do not depend on the number of training pairs.
  fill(corpus.test, options.test);
  fill(corpus.valid, options.valid);
  fill(corpus.train, options.train);
  return corpus;
}

}  // namespace sixfold::demo
