#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sixfold::demo {

/// A line of the corpus in both languages: one sentence or several.
struct SentencePair {
  std::string english, german;
  /// The word alignment, which links words that express the same part of the meaning, in the form "0-0 1p2":
  /// English word and German word, counted from 0. A link is sure ("-") if the part has one word in both
  /// languages, and possible ("p") if it has several in one.
  std::string alignment;
};

struct CorpusOptions {
  int train = 24000;
  int valid = 300;
  int test = 500;
  uint64_t seed = 1;
  /// Lines have 1 to this many sentences, each number equally often.
  int sentences = 1;
  int test_sentences = 0;  ///< the same for lines of `test`; 0: `sentences`
};

struct Corpus {
  std::vector<SentencePair> train, valid, test;
};

/// The maximum number of sentences of a corpus, all three parts together. The grammar has more, but beyond this
/// number its shortest sentences are exhausted, and a sample is no longer representative.
constexpr int max_sentences = 1'000'000;

/// Generates a corpus from the demo grammar. It depends only on the options. No sentence, English or German,
/// occurs twice, so no sentence of `valid` or `test` is in the training part. Throws an input error for
/// negative counts, no training pairs, or more sentences than `max_sentences`.
Corpus make_corpus(const CorpusOptions& options);

}  // namespace sixfold::demo
