#include "program/demo/corpus.h"

#include <unordered_set>

#include "base/error.h"
#include "base/random.h"
#include "program/demo/sampler.h"

namespace sixfold::demo {
namespace {

constexpr int most_sentences = 100;

/// The largest number of sentences in a line of `test`.
int test_sentences(const CorpusOptions& options) {
  return options.test_sentences == 0 ? options.sentences : options.test_sentences;
}

void check(const CorpusOptions& options) {
  require(options.train > 0, "the demo corpus needs at least 1 training pair, not {}", options.train);
  require(options.valid >= 0 && options.test >= 0,
          "the numbers of validation and test pairs can't be negative ({}, {})", options.valid, options.test);
  for (const int sentences : {options.sentences, test_sentences(options)})
    require(sentences >= 1 && sentences <= most_sentences,
            "a line of the demo corpus can have 1 to {} sentences, not {}", most_sentences, sentences);
  const int64_t wanted = (int64_t{options.train} + options.valid) * options.sentences +
                         int64_t{options.test} * test_sentences(options);
  require(wanted <= most_pairs,
          "up to {} sentences were requested (lines for training {}, validation {}, held out {}), but the demo "
          "grammar has only {}; request fewer",
          wanted, options.train, options.valid, options.test, most_pairs);
}

}  // namespace

Corpus make_corpus(const CorpusOptions& options) {
  check(options);
  Corpus corpus;
  Sampler sampler(options.seed);
  RandomStream counts(options.seed, 1);
  std::unordered_set<std::string> seen_english, seen_german;
  const auto new_sentence = [&] {
    while (true) {
      const Sentence sentence = sampler.draw();
      SentencePair pair = {english(sentence), german(sentence)};
      if (seen_english.contains(pair.english) || seen_german.contains(pair.german)) continue;
      seen_english.insert(pair.english);
      seen_german.insert(pair.german);
      return pair;
    }
  };
  const auto fill = [&](std::vector<SentencePair>& part, int count, int sentences) {
    while (static_cast<int>(part.size()) < count) {
      SentencePair line = new_sentence();
      for (auto more = counts.below(static_cast<uint32_t>(sentences)); more > 0; --more) {
        const SentencePair next = new_sentence();
        line.english += " " + next.english;
        line.german += " " + next.german;
      }
      part.push_back(std::move(line));
    }
  };
  // The held-out parts come first, so that they do not depend on the number of training pairs.
  fill(corpus.test, options.test, test_sentences(options));
  fill(corpus.valid, options.valid, options.sentences);
  fill(corpus.train, options.train, options.sentences);
  return corpus;
}

}  // namespace sixfold::demo
