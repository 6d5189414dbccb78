#include "program/demo/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "base/random.h"
#include "program/demo/sampler.h"
#include "text/words.h"

namespace sixfold::demo {
namespace {

constexpr int max_sentences_of_line = 100;

/// The largest number of sentences in a line of `test`.
int test_sentences(const CorpusOptions& options) {
  return options.test_sentences == 0 ? options.sentences : options.test_sentences;
}

void check(const CorpusOptions& options) {
  require(options.train > 0, "the demo corpus needs at least 1 training pair, not {}", options.train);
  require(options.valid >= 0 && options.test >= 0,
          "the numbers of validation and test pairs can't be negative ({}, {})", options.valid, options.test);
  for (const int sentences : {options.sentences, test_sentences(options)})
    require(sentences >= 1 && sentences <= max_sentences_of_line,
            "a line of the demo corpus can have 1 to {} sentences, not {}", max_sentences_of_line, sentences);
  const int64_t requested = (int64_t{options.train} + options.valid) * options.sentences +
                            int64_t{options.test} * test_sentences(options);
  require(requested <= max_sentences,
          "up to {} sentences were requested (lines for training {}, validation {}, held out {}), but the demo "
          "grammar has only {}; request fewer",
          requested, options.train, options.valid, options.test, max_sentences);
}

bool share_parts(const Wording::Word& a, const Wording::Word& b) {
  return std::ranges::find_first_of(a.parts, b.parts) != a.parts.end();
}

/// The number of words of the other language that share parts of the meaning with `word`.
int64_t count_partners(const Wording::Word& word, const Wording& other) {
  return std::ranges::count_if(other.words(), [&](const auto& one) { return share_parts(word, one); });
}

/// Appends a sentence to a line.
void append(SentencePair& line, const Wording& english, const Wording& german) {
  const size_t english_before = count_words(line.english), german_before = count_words(line.german);
  const std::string_view space = line.english.empty() ? "" : " ";
  for (size_t e = 0; e < english.words().size(); ++e)
    for (size_t g = 0; g < german.words().size(); ++g) {
      const Wording::Word &one = english.words()[e], &other = german.words()[g];
      if (!share_parts(one, other)) continue;
      const bool sure = count_partners(one, german) == 1 && count_partners(other, english) == 1;
      line.alignment += fmt::format("{}{}{}{}", line.alignment.empty() ? "" : " ", english_before + e,
                                    sure ? '-' : 'p', german_before + g);
    }
  line.english.append(space).append(english.text());
  line.german.append(space).append(german.text());
}

}  // namespace

Corpus make_corpus(const CorpusOptions& options) {
  check(options);
  Corpus corpus;
  Sampler sampler(options.seed);
  RandomStream counts(options.seed, 1);
  std::unordered_set<std::string> seen_english, seen_german;
  const auto append_new_sentence = [&](SentencePair& line) {
    while (true) {
      const Sentence sentence = sampler.draw();
      const Wording in_english = english(sentence), in_german = german(sentence);
      if (seen_english.contains(in_english.text()) || seen_german.contains(in_german.text())) continue;
      seen_english.insert(in_english.text());
      seen_german.insert(in_german.text());
      return append(line, in_english, in_german);
    }
  };
  const auto fill = [&](std::vector<SentencePair>& part, int count, int sentences) {
    while (static_cast<int>(part.size()) < count) {
      SentencePair& line = part.emplace_back();
      append_new_sentence(line);
      for (auto more = counts.below(static_cast<uint32_t>(sentences)); more > 0; --more)
        append_new_sentence(line);
    }
  };
  // The held-out parts come first, so that they do not depend on the number of training pairs.
  fill(corpus.test, options.test, test_sentences(options));
  fill(corpus.valid, options.valid, options.sentences);
  fill(corpus.train, options.train, options.sentences);
  return corpus;
}

}  // namespace sixfold::demo
