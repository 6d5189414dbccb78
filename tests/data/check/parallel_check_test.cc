#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "data/check/checks.h"
#include "data/check/made_faults.h"
#include "data/check/pair_faults.h"
#include "program/demo/corpus.h"
#include "shared.h"
#include "temporary_folder.h"
#include "text/utf8.h"
#include "text/words.h"

namespace sixfold {
namespace {

using Lines = std::vector<std::string>;

/// The texts of a run, which a test makes worse.
struct RunTexts {
  Lines source, target, valid_source, valid_target;
};

/// Chance, as tests of variants draw it.
struct Draw {
  explicit Draw(uint64_t seed) : random(seed, 1) {}
  double between(double low, double high) { return low + (high - low) * random.uniform(); }
  /// Calls `change` with a share of the numbers below `count`, each at most once.
  void some(size_t count, double share, const std::function<void(size_t)>& change) {
    for (size_t i = 0; i < count; ++i)
      if (random.uniform() < share) change(i);
  }
  RandomStream random;
};

/// A fault that data may have, and what makes it.
struct MadeFault {
  const char* id;
  void (*make)(RunTexts& t, Draw& draw);
};

const MadeFault made_faults[] = {
    {"languages-swapped", [](RunTexts& t, Draw&) { std::swap(t.source, t.target); }},
    {"languages-swapped", [](RunTexts& t, Draw&) { std::swap(t.valid_source, t.valid_target); }},
    {"copies", [](RunTexts& t, Draw&) { t.target = t.source; }},
    {"copies",
     [](RunTexts& t, Draw& d) {
       d.some(t.target.size(), d.between(0.03, 0.3), [&](size_t i) { t.target[i] = t.source[i]; });
     }},
    {"targets-shuffled", [](RunTexts& t, Draw& d) { shuffle(t.target, d.random); }},
    {"targets-shuffled",  // a line was lost
     [](RunTexts& t, Draw& d) {
       t.target.erase(t.target.begin() + d.random.below(static_cast<uint32_t>(t.target.size() * 3 / 4)));
       t.source.pop_back();
     }},
    {"targets-shuffled", [](RunTexts& t, Draw& d) { shuffle(t.valid_target, d.random); }},
    {"duplicates",
     [](RunTexts& t, Draw& d) {
       d.some(t.source.size(), d.between(0.04, 0.3), [&](size_t i) {
         t.source.push_back(std::string(t.source[i]));
         t.target.push_back(std::string(t.target[i]));
       });
     }},
    {"overlap",
     [](RunTexts& t, Draw& d) {
       d.some(t.valid_source.size(), d.between(0.05, 1), [&](size_t i) {
         t.source.push_back(t.valid_source[i]);
         t.target.push_back(t.valid_target[i]);
       });
     }},
    {"mojibake",
     [](RunTexts& t, Draw& d) {
       d.some(t.target.size(), d.between(0.05, 0.6), [&](size_t i) { t.target[i] = as_mojibake(t.target[i]); });
     }},
    {"normal-forms",
     [](RunTexts& t, Draw& d) {
       d.some(t.target.size(), d.between(0.1, 0.6), [&](size_t i) { t.target[i] = decomposed(t.target[i]); });
     }},
    {"white-space",
     [](RunTexts& t, Draw& d) {
       d.some(t.source.size(), d.between(0.03, 0.5), [&](size_t i) {
         const char* odd[] = {"\u00A0", "\u200B", "  ", "\t", "\u00AD"};
         const size_t space = t.source[i].find(' ');
         if (space != std::string::npos) t.source[i].replace(space, 1, odd[d.random.below(5)]);
       });
     }},
    {"length-ratio",
     [](RunTexts& t, Draw& d) {
       const Lines whole = t.target;
       d.some(whole.size() - 5, d.between(0.03, 0.4), [&](size_t i) {
         if (d.random.below(2) == 0)
           t.target[i] = whole[i].substr(0, bytes_of(whole[i], 3));
         else
           for (size_t k = 1; k < 6; ++k) t.target[i] += " " + whole[i + k];
       });
     }},
    {"languages-mixed",
     [](RunTexts& t, Draw& d) {
       d.some(t.source.size(), d.between(0.1, 0.4), [&](size_t i) { std::swap(t.source[i], t.target[i]); });
     }},
    {"repeated-sides",
     [](RunTexts& t, Draw& d) {
       d.some(t.target.size(), d.between(0.05, 1),
              [&](size_t i) { t.target[i] = "This translation is not there yet."; });
     }},
    {"truncated",  // at a number of words
     [](RunTexts& t, Draw& d) {
       std::vector<size_t> lengths;
       for (const std::string& line : t.source) lengths.push_back(count_words(line));
       std::ranges::sort(lengths);
       const double part = d.between(0.5, 0.8) * static_cast<double>(lengths.size());
       const size_t limit = std::max<size_t>(8, lengths[static_cast<size_t>(part)]);
       if (lengths.back() <= limit)
         for (std::string& line : t.source) line += " and a cat and a dog and some more words";
       for (std::string& line : t.source) {
         const std::vector<TextRange> words = word_ranges(line);
         if (words.size() > limit) line.resize(words[limit - 1].end);
       }
     }},
    {"truncated",
     [](RunTexts& t, Draw& d) {
       std::vector<int64_t> lengths;
       for (const std::string& line : t.target) lengths.push_back(count_characters(line));
       std::ranges::sort(lengths);
       const double part = d.between(0.4, 0.9) * static_cast<double>(lengths.size());
       const int64_t limit = std::max<int64_t>(20, lengths[static_cast<size_t>(part)]);
       for (std::string& line : t.target) line.resize(bytes_of(line, limit));
     }},
    {"empty-lines",
     [](RunTexts& t, Draw& d) {
       d.some(t.target.size(), d.between(0.02, 0.2), [&](size_t i) { t.target[i].clear(); });
     }},
    {"scripts",
     [](RunTexts& t, Draw& d) {
       d.some(t.source.size(), d.between(0.05, 0.4),
              [&](size_t i) { t.source[i] = with_cyrillic(t.source[i]); });
     }},
};

/// A corpus of two languages; the files below the shared folder, or none for the demo.
struct CheckedCorpus {
  const char* name;
  const char* languages[2];
  const char* train;
  const char* valid;
};

const CheckedCorpus corpora[] = {
    {"demo", {"en", "de"}, "", ""},
    {"multi30k", {"en", "de"}, "data/multi30k/raw/train.", "data/multi30k/raw/val."},
    {"tanaka", {"en", "ja"}, "data/tanaka-en-ja/train.", "data/tanaka-en-ja/dev."}};

class ParallelCheckTest : public testing::TestWithParam<CheckedCorpus> {
 protected:
  void SetUp() override {
    const CheckedCorpus& corpus = GetParam();
    if (*corpus.train == 0) {
      const demo::Corpus text = demo::make_corpus({.train = 3000, .valid = 300, .test = 0});
      for (const auto& pair : text.train) add(pair, texts_.source, texts_.target);
      for (const auto& pair : text.valid) add(pair, texts_.valid_source, texts_.valid_target);
      return;
    }
    const auto file = [&](const char* part, int side) {
      return shared_file(std::string(part) + corpus.languages[side]);
    };
    if (file(corpus.train, 0).empty()) GTEST_SKIP() << corpus.name << ": its text is not there";
    texts_ = {read_lines(file(corpus.train, 0)), read_lines(file(corpus.train, 1)),
              read_lines(file(corpus.valid, 0)), read_lines(file(corpus.valid, 1))};
  }

  static void add(const demo::SentencePair& pair, Lines& english, Lines& german) {
    english.push_back(pair.english);
    german.push_back(pair.german);
  }

  std::string put(const std::string& name, int side, const Lines& lines) const {
    const std::string path = folder_ / (name + GetParam().languages[side]);
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    write_file_atomically(path, text);
    return path;
  }

  std::vector<Finding> findings_of(const RunTexts& t) const {
    return check_parallel(
        {.train = {{put("train.", 0, t.source), put("train.", 1, t.target), ""}},
         .valid = {{put("valid.", 0, t.valid_source), put("valid.", 1, t.valid_target), ""}}});
  }

  /// Some consecutive pairs of the training text.
  RunTexts some_of(size_t begin, size_t count) const {
    RunTexts t = texts_;
    const auto part = [&](const Lines& lines) {
      return Lines(lines.begin() + std::ptrdiff_t(begin), lines.begin() + std::ptrdiff_t(begin + count));
    };
    t.source = part(texts_.source);
    t.target = part(texts_.target);
    return t;
  }

  /// Expects that each fault is found in its variants `first` to `last`.
  void find_all(uint64_t first, uint64_t last) const {
    for (uint64_t seed = first; seed <= last; ++seed)
      for (const MadeFault& fault : made_faults) {
        Draw draw(seed);
        const size_t count = 1500;
        RunTexts worse = some_of(draw.random.below(static_cast<uint32_t>(texts_.source.size() - count)), count);
        fault.make(worse, draw);
        const std::vector<Finding> findings = findings_of(worse);
        const auto found = std::ranges::find(findings, fault.id, &Finding::id);
        ASSERT_NE(found, findings.end()) << fault.id << ", seed " << seed << "\n" << to_text(findings);
        EXPECT_LE(found->examples.size(), max_examples);
      }
  }

  TemporaryFolder folder_;
  RunTexts texts_;
};

INSTANTIATE_TEST_SUITE_P(Corpora, ParallelCheckTest, testing::ValuesIn(corpora),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(ParallelCheckTest, FindsNothingInGoodText) {
  EXPECT_EQ(to_text(findings_of(texts_)), "");
  EXPECT_EQ(to_text(findings_of(some_of(500, 1500))), "");
}

TEST_P(ParallelCheckTest, FindsEachFault) { find_all(1, 2); }
TEST_P(ParallelCheckTest, SlowFindsEachFaultInEachOfTwentyVariants) { find_all(3, 20); }

TEST_P(ParallelCheckTest, FindsNothingInSlices) {
  for (size_t begin = 0; begin < 2400; begin += 300)
    EXPECT_EQ(to_text(findings_of(some_of(begin, 200))), "") << begin;
}

TEST_P(ParallelCheckTest, FindsTargetsThatAreShuffledHereAndThere) {
  RunTexts worse = some_of(0, 2500);
  Lines some;
  std::vector<size_t> places;
  Draw(3).some(2500, 0.5, [&](size_t i) { places.push_back(i); });
  for (const size_t i : places) some.push_back(worse.target[i]);
  for (size_t k = 0; k < places.size(); ++k) worse.target[places[k]] = some[(k + 1) % some.size()];
  const std::vector<Finding> findings = findings_of(worse);
  EXPECT_NE(std::ranges::find(findings, "targets-shuffled", &Finding::id), findings.end());
}

/// What was learned from wrong targets says nothing of a good text, and few pairs suffice to find them.
TEST_P(ParallelCheckTest, DoesNotBlameTheOtherText) {
  for (const size_t count : {200u, 300u, 1000u, 2500u}) {
    RunTexts worse = some_of(0, count);
    std::rotate(worse.target.begin(), worse.target.begin() + 1, worse.target.end());
    std::string all;
    for (const Finding& one : findings_of(worse)) all += one.id == "targets-shuffled" ? one.text + "\n" : "";
    EXPECT_NE(all.find("data.train: the targets do not belong"), std::string::npos) << count << ": " << all;
    EXPECT_EQ(all.find("data.valid"), std::string::npos) << count << ": " << all;
  }
}

/// A line that was lost early leaves a short rest, which is as it should be.
TEST_P(ParallelCheckTest, NamesThePlaceOfALostLine) {
  for (const size_t line : {700u, 1300u, 2000u}) {
    RunTexts worse = some_of(0, 2500);
    worse.target.erase(worse.target.begin() + static_cast<std::ptrdiff_t>(line));
    worse.source.pop_back();
    const std::vector<Finding> findings = findings_of(worse);
    const auto found = std::ranges::find(findings, "targets-shuffled", &Finding::id);
    ASSERT_NE(found, findings.end()) << line;
    EXPECT_NE(found->text.find(" parts of the text"), std::string::npos) << found->text;
    const size_t place = found->text.find("." + std::string(GetParam().languages[0]) + ":");
    ASSERT_NE(place, std::string::npos) << found->text;
    EXPECT_NEAR(std::stod(found->text.substr(place + 4)), static_cast<double>(line), 250) << found->text;
  }
}

/// The place of a fault that the whole text has would be wrong.
TEST_P(ParallelCheckTest, NamesNoPlaceOfWhatIsEverywhere) {
  RunTexts worse = some_of(0, 2500);
  Draw draw(5);
  for (size_t i = 0; i + 1 < worse.target.size(); i += 2)
    if (draw.random.uniform() < 0.6) std::swap(worse.target[i], worse.target[i + 1]);
  const std::vector<Finding> findings = findings_of(worse);
  const auto found = std::ranges::find(findings, "targets-shuffled", &Finding::id);
  ASSERT_NE(found, findings.end());
  EXPECT_NE(found->text.find("% of the targets do not belong to their sources"), std::string::npos)
      << found->text;
  EXPECT_EQ(found->text.find(" on:"), std::string::npos) << found->text;
}

/// Tokenized text has spaces before its points.
TEST_P(ParallelCheckTest, ComparesWithoutWhiteSpace) {
  RunTexts t = some_of(0, 1000);
  t.valid_source.assign(t.source.begin(), t.source.begin() + 200);
  t.valid_target.assign(t.target.begin(), t.target.begin() + 200);
  for (Lines* lines : {&t.valid_source, &t.valid_target})
    for (std::string& line : *lines) {
      size_t last = line.size() - 1;
      while (last > 0 && (static_cast<unsigned char>(line[last]) & 0xC0) == 0x80) --last;
      line.insert(last, " ");
    }
  const std::vector<Finding> findings = findings_of(t);
  EXPECT_NE(std::ranges::find(findings, "overlap", &Finding::id), findings.end());
}

TEST_P(ParallelCheckTest, TellsWhereTestDataAreValidationData) {
  const RunTexts t = some_of(0, 500);
  const CorpusFiles valid{put("v.", 0, t.valid_source), put("v.", 1, t.valid_target), ""};
  const std::vector<Finding> findings = check_parallel(
      {.train = {{put("t.", 0, t.source), put("t.", 1, t.target), ""}}, .valid = {valid}, .test = {valid}});
  const auto found = std::ranges::find(findings, "overlap", &Finding::id);
  ASSERT_NE(found, findings.end());
  EXPECT_EQ(found->severity, Severity::warning);
  EXPECT_NE(found->text.find("are in data.valid too"), std::string::npos) << found->text;
}

/// Another text the other way round is found as such, not as one with mixed languages.
TEST_P(ParallelCheckTest, LooksAtEachTextByItself) {
  const RunTexts first = some_of(0, 1000), second = some_of(1000, 1000);
  const CorpusFiles a{put("a.", 0, first.source), put("a.", 1, first.target), ""};
  const std::string source = put("b.", 0, second.source), target = put("b.", 1, second.target);
  EXPECT_TRUE(check_parallel({.train = {a, {source, target, ""}}}).empty());
  const std::vector<Finding> findings = check_parallel({.train = {a, {target, source, ""}}});
  ASSERT_EQ(findings.size(), 1u) << to_text(findings);
  EXPECT_EQ(findings[0].id, "languages-swapped");
}

TEST_P(ParallelCheckTest, SettingsMayHaveSolvedIt) {
  RunTexts t = some_of(0, 1000);
  const RunTexts again = some_of(0, 500);
  t.source.insert(t.source.end(), again.source.begin(), again.source.end());
  t.target.insert(t.target.end(), again.target.begin(), again.target.end());
  ParallelCheck check{.train = {{put("t.", 0, t.source), put("t.", 1, t.target), ""}}};
  ASSERT_EQ(check_parallel(check).size(), 1u);
  EXPECT_EQ(check_parallel(check)[0].id, "duplicates");
  check.drops_repeats = true;
  EXPECT_EQ(to_text(check_parallel(check)), "");
  check.languages = {"deu_Latn", "eng_Latn"};
  if (GetParam().languages[1] == std::string("de"))
    EXPECT_EQ(check_parallel(check)[0].id, "languages-swapped");
  else
    EXPECT_EQ(check_parallel(check)[0].id, "languages");
}

/// data.repeats leaves out what is written alike, so only that is reported. What validation shares with
/// training is found in any case.
TEST_P(ParallelCheckTest, RepeatsAreWrittenAlike) {
  if (GetParam().name == std::string("tanaka")) GTEST_SKIP() << "the text is in lower case";
  const auto small = [](Lines lines) {
    for (std::string& line : lines)
      for (char& c : line) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return lines;
  };
  const RunTexts t = some_of(0, 1000);
  Lines source = t.source, target = t.target;
  const Lines small_source = small(source), small_target = small(target);
  source.insert(source.end(), small_source.begin(), small_source.end());
  target.insert(target.end(), small_target.begin(), small_target.end());
  const CorpusFiles both{put("t.", 0, source), put("t.", 1, target), ""},
      valid{put("v.", 0, small_source), put("v.", 1, small_target), ""},
      train{put("a.", 0, t.source), put("a.", 1, t.target), ""};
  for (const Finding& finding : check_parallel({.train = {both}})) EXPECT_NE(finding.id, "duplicates");
  const std::vector<Finding> findings = check_parallel({.train = {train}, .valid = {valid}});
  EXPECT_NE(std::ranges::find(findings, "overlap", &Finding::id), findings.end());
}

/// Without a tokenizer, words are counted: each has at least one token.
TEST_P(ParallelCheckTest, TellsOfPairsThatTrainingLeavesOut) {
  const RunTexts t = some_of(0, 1000);
  ParallelCheck check{.train = {{put("t.", 0, t.source), put("t.", 1, t.target), ""}}, .max_length = 1};
  if (GetParam().name == std::string("tanaka")) check.max_length = 4;
  const std::vector<Finding> findings = check_parallel(check);
  const auto found = std::ranges::find(findings, "truncated", &Finding::id);
  ASSERT_NE(found, findings.end()) << to_text(findings);
  EXPECT_NE(found->text.find("tokens of data.max_length"), std::string::npos) << found->text;
  check.max_length = 250;
  EXPECT_EQ(to_text(check_parallel(check)), "");
}

TEST_P(ParallelCheckTest, EndsWhereItIsCancelled) {
  const std::atomic<int> stop{1};
  EXPECT_THROW(check_parallel(
                   {.train = {{put("t.", 0, texts_.source), put("t.", 1, texts_.target), ""}}, .stop = &stop}),
               Cancelled);
}

}  // namespace
}  // namespace sixfold
