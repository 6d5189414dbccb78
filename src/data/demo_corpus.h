#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sixfold::demo {

struct SentencePair {
  std::string english, german;
};

struct CorpusOptions {
  int train = 24000;
  int valid = 300;
  int test = 500;
  uint64_t seed = 1;
};

struct Corpus {
  std::vector<SentencePair> train, valid, test;
};

/// The most pairs that a corpus may hold, all three parts together. The grammar has more, but its shortest
/// sentences are then used up, and what remains is no longer a fair sample.
constexpr int most_pairs = 1'000'000;

/// A corpus of the demo grammar, a function of the options alone. No sentence, English or German, stands in it
/// twice, so that nothing of `valid` or `test` was seen in training. Throws an input error for counts below
/// zero, no training pairs or more pairs than `most_pairs`.
Corpus make_corpus(const CorpusOptions& options);

}  // namespace sixfold::demo
