#include "program/demo/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/hash.h"
#include "program/demo/sampler.h"

namespace sixfold::demo {
namespace {

std::vector<std::string> words(std::string sentence) {
  std::erase_if(sentence, [](char c) { return c == '.' || c == ',' || c == '?'; });
  if (!sentence.starts_with("I ")) sentence[0] = static_cast<char>(std::tolower(sentence[0]));
  std::istringstream split(sentence);
  return {std::istream_iterator<std::string>(split), {}};
}

const Corpus& corpus() {
  static const Corpus made = make_corpus({});
  return made;
}

std::string text(const std::vector<SentencePair>& pairs) {
  std::string all;
  for (const SentencePair& pair : pairs) all += pair.english + "\t" + pair.german + "\n";
  return all;
}

TEST(DemoCorpus, HasTheCountsAskedForAndNoSentenceTwice) {
  EXPECT_EQ(corpus().train.size(), 24000u);
  EXPECT_EQ(corpus().valid.size(), 300u);
  EXPECT_EQ(corpus().test.size(), 500u);
  std::set<std::string> english_sentences, german_sentences;
  for (auto* part : {&corpus().train, &corpus().valid, &corpus().test}) {
    for (const SentencePair& pair : *part) {
      EXPECT_TRUE(english_sentences.insert(pair.english).second) << pair.english;
      EXPECT_TRUE(german_sentences.insert(pair.german).second) << pair.german;
    }
  }
}

TEST(DemoCorpus, IsAFunctionOfTheSeed) {
  CorpusOptions few{.train = 300, .valid = 20, .test = 30, .seed = 5};
  Corpus one = make_corpus(few), same = make_corpus(few);
  EXPECT_EQ(text(one.train), text(same.train));
  EXPECT_EQ(text(one.test), text(same.test));
  few.seed = 6;
  EXPECT_NE(text(one.train), text(make_corpus(few).train));
  // On every machine: the default corpus as it was when this test was written.
  EXPECT_EQ(hash_hex(text(corpus().train)), "c5d7263097265a9e269d1acbaeebf027");
  EXPECT_EQ(hash_hex(text(corpus().test)), "2b849203e1ecf92e025cc64eae6cb926");
}

TEST(DemoCorpus, HeldOutPairsDoNotDependOnTheTrainingPairs) {
  Corpus small = make_corpus({.train = 10});
  EXPECT_EQ(text(small.test), text(corpus().test));
  EXPECT_EQ(text(small.valid), text(corpus().valid));
}

TEST(DemoCorpus, LinesHaveAsManySentencesAsAskedFor) {
  const Corpus made = make_corpus({.train = 300, .valid = 30, .test = 60, .sentences = 2, .test_sentences = 6});
  const auto ends = [](const std::string& line) {
    return std::ranges::count_if(line, [](char c) { return c == '.' || c == '?'; });
  };
  for (const auto& [part, most] :
       {std::pair(&made.train, 2), std::pair(&made.valid, 2), std::pair(&made.test, 6)}) {
    std::map<int64_t, int> counts;
    for (const SentencePair& pair : *part) {
      EXPECT_EQ(ends(pair.english), ends(pair.german)) << pair.english;
      ++counts[ends(pair.english)];
    }
    EXPECT_EQ(counts.begin()->first, 1);
    EXPECT_EQ(counts.rbegin()->first, most);
    EXPECT_EQ(std::ssize(counts), most);
  }
  EXPECT_EQ(text(make_corpus({.train = 1, .sentences = 1, .test_sentences = 1}).test), text(corpus().test));
}

TEST(DemoCorpus, SentencesAreWellFormed) {
  for (const SentencePair& pair : corpus().train) {
    auto count = words(pair.english).size();
    ASSERT_TRUE(count >= 4 && count <= 14) << pair.english;
    for (const std::string& sentence : {pair.english, pair.german}) {
      bool capital = (sentence[0] >= 'A' && sentence[0] <= 'Z') || sentence.starts_with("Ä");
      ASSERT_TRUE(capital) << sentence;
      ASSERT_EQ(sentence.find("  "), std::string::npos) << sentence;
      ASSERT_TRUE(std::isalpha(static_cast<unsigned char>(sentence[sentence.size() - 2])) ||
                  sentence[sentence.size() - 2] < 0)
          << sentence;
    }
    ASSERT_EQ(pair.english.back(), pair.german.back()) << pair.english;
    ASSERT_TRUE(pair.english.back() == '.' || pair.english.back() == '?') << pair.english;
  }
}

TEST(DemoCorpus, EveryWordOfTheHeldOutPairsIsWellKnown) {
  std::map<std::string, int> known;
  for (const SentencePair& pair : corpus().train)
    for (const std::string& word : words(pair.english)) ++known[word];
  for (auto* part : {&corpus().test, &corpus().valid})
    for (const SentencePair& pair : *part)
      for (const std::string& word : words(pair.english)) EXPECT_GE(known[word], 20) << word;
  for (int n = 2; n <= 99; ++n) EXPECT_GE(known[english_number(n)], 50) << n;
  for (const Noun& noun : nouns()) EXPECT_GE(known[noun.english], 120) << noun.english;
  for (const Adjective& adjective : adjectives()) EXPECT_GE(known[adjective.english], 150) << adjective.english;
  for (const Verb& verb : verbs()) EXPECT_GE(known[verb.english] + known[verb.english_he], 200) << verb.english;
}

TEST(DemoCorpus, AnEnglishSentenceHasOneGermanOne) {
  std::map<std::string, std::string> translations;
  Sampler sampler(7);
  for (int i = 0; i < 60000; ++i) {
    Sentence sentence = sampler.draw();
    auto known = translations.emplace(english(sentence).text(), german(sentence).text()).first;
    ASSERT_EQ(known->second, german(sentence).text()) << known->first;
  }
  EXPECT_LT(translations.size(), 60000u) << "no sentence came twice, so that nothing was tested";
}

TEST(DemoCorpus, RefusesWhatItCannotGive) {
  EXPECT_THROW(make_corpus({.train = 0}), Error);
  EXPECT_THROW(make_corpus({.test = -1}), Error);
  EXPECT_THROW(make_corpus({.sentences = 0}), Error);
  EXPECT_THROW(make_corpus({.test_sentences = 101}), Error);
  EXPECT_THROW(make_corpus({.train = 500'000, .sentences = 3}), Error);
  EXPECT_THROW(make_corpus({.train = 2147483647, .test = 2147483647}), Error);
  try {
    make_corpus({.train = max_sentences});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::input);
    EXPECT_NE(std::string(error.what()).find("the demo grammar has only 1000000"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace sixfold::demo
