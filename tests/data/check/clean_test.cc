#include "data/check/clean.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "data/check/made_faults.h"
#include "data/lines.h"
#include "error_message.h"
#include "program/demo/corpus.h"
#include "shared.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Pairs = std::vector<LinePair>;

Pairs demo_pairs(int count) {
  Pairs pairs;
  for (const demo::SentencePair& pair : demo::make_corpus({.train = count, .valid = 0, .test = 0}).train)
    pairs.emplace_back(pair.english, pair.german);
  return pairs;
}

class Clean : public testing::Test {
 protected:
  CorpusFiles put(const Pairs& pairs, const std::string& name = "a", const std::string& source = ".en",
                  const std::string& target = ".de") const {
    std::string a, b;
    for (const auto& [first, second] : pairs) a += first + "\n", b += second + "\n";
    write_file_atomically(folder_ / (name + source), a);
    write_file_atomically(folder_ / (name + target), b);
    return {folder_ / (name + source), folder_ / (name + target), ""};
  }

  /// What happens to each pair: a rule, or an empty text where it is kept.
  static std::vector<std::string> rules_of(const std::vector<CorpusFiles>& files,
                                           const CleanOptions& options = {}) {
    std::vector<std::string> rules;
    clean_corpus(files, options, [&](size_t, const CleanedPair& pair) { rules.emplace_back(pair.rule); });
    return rules;
  }

  TemporaryFolder folder_;
};

/// A good text in which about three of ten pairs are made faulty.
struct MixedText {
  Pairs pairs;
  std::vector<std::string> faults;  ///< of each pair; empty: it is good
};

/// No pair is faulty where a fault changes nothing, such as mojibake of ASCII.
MixedText with_faults(const Pairs& good) {
  static constexpr const char* others[] = {
      "Deux hommes en chemise bleue réparent le toit d'une vieille maison.",
      "Une petite fille joue avec son chien dans le jardin.",
      "Trzech mężczyzn w kaskach stoi obok czerwonej ciężarówki.",
      "Una mujer mayor vende fruta en el mercado de la ciudad.",
      "Il ragazzo con la maglia gialla corre verso la spiaggia.",
      "Två barn sitter på en bänk och äter glass.",
      "Een groep mensen wacht op de bus bij het station.",
      "Bir kadın parkta kitap okuyor ve kahve içiyor."};
  enum {
    copies,
    swapped,
    shuffled,
    other_language,
    mojibake,
    scripts,
    cut,
    joined,
    empty,
    space,
    decomposition,
    kinds
  };
  static constexpr const char* names[] = {"copies",   "swapped",     "shuffled",   "other language",
                                          "mojibake", "scripts",     "cut",        "joined",
                                          "empty",    "white space", "normal form"};
  RandomStream random(1, 1);
  MixedText text;
  std::vector<size_t> moved;
  for (size_t i = 0; i < good.size(); ++i) {
    const LinePair pair = good[i];
    auto [source, target] = pair;
    std::string fault;
    if (random.uniform() < 0.275) {
      const uint32_t kind = random.below(kinds);
      if (kind == copies) target = source;
      if (kind == swapped) std::swap(source, target);
      if (kind == shuffled) moved.push_back(text.pairs.size());
      if (kind == other_language) target = others[random.below(std::size(others))];
      if (kind == mojibake) target = as_mojibake(target);
      if (kind == scripts) source = with_cyrillic(source);
      if (kind == cut) target.resize(bytes_of(target, 3));
      if (kind == joined)
        for (size_t k = 1; k < 6; ++k) target += " " + good[(i + k) % good.size()].second;
      if (kind == empty) target.clear();
      if (kind == space) source.insert(source.find(' ') % source.size(), random.below(2) == 0 ? " " : "\u200B");
      if (kind == decomposition) target = decomposed(target);
      if (kind == shuffled || LinePair(source, target) != pair) fault = names[kind];
    }
    text.pairs.emplace_back(source, target);
    text.faults.push_back(fault);
    const size_t earlier = random.below(static_cast<uint32_t>(text.pairs.size()));
    if (random.uniform() < 0.035 && text.faults[earlier] != names[shuffled]) {
      text.pairs.push_back(LinePair(text.pairs[earlier]));
      text.faults.emplace_back("duplicate");
    }
  }
  for (size_t k = 0; k + 1 < moved.size(); ++k)
    std::swap(text.pairs[moved[k]].second, text.pairs[moved[k + 1]].second);
  return text;
}

/// The shares of faulty and of good pairs that were dropped, and a table of what became of each fault.
struct Figures {
  double faulty = 0, good = 0;
  std::string table;
};

Figures figures_of(const MixedText& text, const std::vector<std::string>& rules) {
  std::map<std::string, std::map<std::string, int>> counts;
  double all[2] = {}, dropped[2] = {};
  for (size_t i = 0; i < rules.size(); ++i) {
    ++counts[text.faults[i]][rules[i]];
    const bool is_good = text.faults[i].empty();
    ++all[is_good];
    dropped[is_good] += !rules[i].empty();
  }
  Figures figures{dropped[0] / all[0], dropped[1] / all[1],
                  fmt::format("{:.3f} of the pairs are faulty\n", all[0] / (all[0] + all[1]))};
  for (const auto& [fault, by_rule] : counts) {
    figures.table += (fault.empty() ? "good" : fault) + ":";
    for (const auto& [rule, count] : by_rule)
      figures.table += fmt::format(" {} {},", count, rule.empty() ? "kept" : rule);
    figures.table.back() = '\n';
  }
  return figures;
}

/// A good text: the demo's, or files below the shared folder.
struct GoodText {
  const char* name;
  const char* folder;
  const char* target_end;
  std::ptrdiff_t some = 0;  ///< so many of its pairs are judged in a few seconds
};

class CleanMixed : public Clean, public testing::WithParamInterface<GoodText> {
 protected:
  void SetUp() override {
    const GoodText& corpus = GetParam();
    if (*corpus.folder == 0) {
      good_ = demo_pairs(4000);
      return;
    }
    const std::string train = std::string(corpus.folder) + "/train";
    SIXFOLD_NEEDS_SHARED(train + ".en");
    const std::vector<std::string> sources = read_lines(shared_file(train + ".en")),
                                   targets = read_lines(shared_file(train + corpus.target_end));
    for (size_t i = 0; i < sources.size(); ++i) good_.emplace_back(sources[i], targets[i]);
  }

  void judge(const Pairs& good) const {
    const auto figures = [&](const MixedText& text) {
      return figures_of(text, rules_of({put(text.pairs, "a", ".en", GetParam().target_end)}, {.threads = 2}));
    };
    const Figures mixed = figures(with_faults(good)),
                  unmixed = figures({good, std::vector<std::string>(good.size())});
    EXPECT_GE(mixed.faulty, 0.95) << mixed.table;
    EXPECT_LE(mixed.good, 0.01) << mixed.table;
    EXPECT_LE(unmixed.good, 0.01) << unmixed.table;
    RecordProperty("table", mixed.table + unmixed.table);
  }

  Pairs good_;
};

INSTANTIATE_TEST_SUITE_P(Corpora, CleanMixed,
                         testing::Values(GoodText{"demo", "", ".de", 4000},
                                         GoodText{"multi30k", "data/multi30k/raw", ".de", 8000},
                                         GoodText{"tanaka", "data/tanaka-en-ja", ".ja", 20'000}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(CleanMixed, DropsFaultyPairsAndKeepsGoodOnes) {
  judge({good_.begin(), good_.begin() + GetParam().some});
}
TEST_P(CleanMixed, SlowAlsoOfTheWholeText) { judge(good_); }

/// Parts one after the other are the whole, whatever the number of threads.
TEST_F(Clean, PartsAreTheWhole) {
  const MixedText text = with_faults(demo_pairs(2000));
  const std::vector<CorpusFiles> files{put({text.pairs.begin(), text.pairs.begin() + 300}, "a"),
                                       put({text.pairs.begin() + 300, text.pairs.end()}, "b")};
  const auto judged = [&](const CleanOptions& options) {
    std::string all;
    int64_t count = 0;
    const CleanReport report = clean_corpus(files, options, [&](size_t t, const CleanedPair& pair) {
      all += fmt::format("{} {} {} {} {}\n", t, pair.place, pair.rule, pair.lines.first, pair.lines.second);
      ++count;
    });
    EXPECT_EQ(report.read, count);
    int64_t dropped = 0;
    for (const auto& [rule, number] : report.dropped) dropped += number;
    EXPECT_EQ(report.kept + dropped, count);
    return all;
  };
  const std::string whole = judged({});
  EXPECT_NE(whole.find("targets-shuffled"), std::string::npos) << "a rule that learns from the whole text";
  EXPECT_NE(whole.find("duplicates"), std::string::npos) << "a rule across parts";
  EXPECT_EQ(judged({.threads = 3}), whole);
  std::string together;
  for (int64_t part = 1; part <= 3; ++part) {
    const std::string one = judged({.part = part, .parts = 3, .threads = 2});
    EXPECT_LT(one.size(), whole.size() / 2);
    together += one;
  }
  EXPECT_EQ(together, whole);
}

TEST_F(Clean, TellsTheRuleAndThePlace) {
  Pairs pairs = demo_pairs(300);
  pairs[1].second = pairs[1].first;
  pairs[2].first = "";
  pairs[3].second += " ";
  pairs[4] = pairs[0];
  const CorpusFiles files = put(pairs);
  std::map<std::string, std::string> dropped;
  CleanOptions options;
  const CleanReport report = clean_corpus({files}, options, [&](size_t, const CleanedPair& pair) {
    if (!pair.rule.empty()) dropped[pair.place] = pair.rule;
  });
  const std::map<std::string, std::string> expected{{files.source + ":2", "copies"},
                                                    {files.source + ":3", "empty-lines"},
                                                    {files.source + ":4", "white-space"},
                                                    {files.source + ":5", "duplicates"}};
  EXPECT_EQ(dropped, expected);
  EXPECT_EQ(report.kept, 296);
  options.keep = {"copies", "duplicates", "languages-mixed", "white-space"};
  const std::vector<std::string> rules = rules_of({files}, options);
  EXPECT_EQ(std::ranges::count(rules, ""), 299);
}

TEST_F(Clean, InvalidTextIsDroppedOrReplacedOrAnError) {
  Pairs pairs = demo_pairs(300);
  pairs[7].first += "\xFF";
  const CorpusFiles files = put(pairs);
  EXPECT_EQ(rules_of({files}, {.invalid = InvalidUtf8::skip})[7], "invalid-utf8");
  EXPECT_EQ(rules_of({files}, {.invalid = InvalidUtf8::replace})[7], "mojibake");
  expect_holds(error_message([&] { rules_of({files}, {.invalid = InvalidUtf8::error}); }), ".en:8");
}

/// A pair whose own fault drops it does not take a better one with it.
TEST_F(Clean, NearDuplicatesAreDroppedWhereAsked) {
  Pairs pairs = demo_pairs(300);
  const auto [source, target] = pairs[0];
  pairs[1] = {source + "!", "2: " + target};
  pairs[2] = {"  " + pairs[10].first, pairs[10].second};
  pairs.emplace_back("12.5", "12,5");
  pairs.emplace_back("13.5", "13,5");
  const CorpusFiles files = put(pairs);
  std::vector<std::string> rules = rules_of({files});
  EXPECT_EQ(rules[1], "");
  rules = rules_of({files}, {.near_duplicates = true});
  EXPECT_EQ(rules[0], "");
  EXPECT_EQ(rules[1], "duplicates");
  EXPECT_EQ(rules[2], "white-space");
  EXPECT_EQ(rules[10], "");
  EXPECT_EQ(rules[301], "") << "pairs without letters are compared as they are";
  // A line that another rule would drop is compared like others if that rule is left out.
  rules = rules_of({files}, {.keep = {"white-space"}, .near_duplicates = true});
  EXPECT_EQ(rules[2], "");
  EXPECT_EQ(rules[10], "duplicates");
}

/// What can be mended is: equal pairs are then duplicates.
TEST_F(Clean, MendsWhatLosesNothing) {
  Pairs pairs = demo_pairs(300);
  const auto place =
      std::ranges::find_if(pairs, [](const LinePair& pair) { return decomposed(pair.second) != pair.second; });
  ASSERT_NE(place, pairs.end()) << "a target with an umlaut";
  const LinePair good = *place;
  pairs.push_back({"One more: " + good.first + " ", "Noch etwas:\t" + as_mojibake(good.second)});
  pairs.push_back({good.first, decomposed(good.second)});
  pairs.push_back({good.first + "\uFFFD", good.second});
  pairs.push_back({"\u00AD", good.second});
  const CorpusFiles files = put(pairs);
  std::vector<std::string> rules = rules_of({files});
  EXPECT_EQ((std::vector<std::string>(rules.end() - 4, rules.end())),
            (std::vector<std::string>{"mojibake", "normal-forms", "mojibake", "length-ratio"}));
  LinePair mended;
  rules.clear();
  CleanOptions options{.mend = true};
  const CleanReport report = clean_corpus({files}, options, [&](size_t, const CleanedPair& pair) {
    rules.emplace_back(pair.rule);
    if (pair.is_mended && pair.rule.empty()) mended = pair.lines;
  });
  EXPECT_EQ((std::vector<std::string>(rules.end() - 4, rules.end())),
            (std::vector<std::string>{"", "duplicates", "mojibake", "empty-lines"}));
  EXPECT_EQ(mended, LinePair("One more: " + good.first, "Noch etwas: " + good.second));
  EXPECT_EQ(report.mended, 1);
}

/// Nothing can be told of words that stand for nothing.
TEST_F(Clean, ATextThatIsShuffledAsAWholeIsNotDropped) {
  Pairs pairs = demo_pairs(2600);
  for (size_t i = 0; i + 1 < pairs.size(); ++i) std::swap(pairs[i].second, pairs[i + 1].second);
  const std::vector<std::string> rules = rules_of({put(pairs)});
  EXPECT_EQ(std::ranges::count(rules, "targets-shuffled"), 0);
}

/// However many they are, up to about half. How many are found varies with the share and the text.
TEST_P(CleanMixed, DropsShuffledTargets) {
  const bool is_tanaka = GetParam().name == std::string("tanaka");
  for (const double share : {0.05, 0.15, 0.3, 0.45}) {
    Pairs pairs(good_.begin(), good_.begin() + std::min<std::ptrdiff_t>(std::ssize(good_), 8000));
    RandomStream random(7, 1);
    std::vector<size_t> moved;
    for (size_t i = 0; i < pairs.size(); ++i)
      if (random.uniform() < share) moved.push_back(i);
    for (size_t k = 0; k + 1 < moved.size(); ++k) std::swap(pairs[moved[k]].second, pairs[moved[k + 1]].second);
    const std::vector<std::string> rules = rules_of({put(pairs, "a", ".en", GetParam().target_end)},
                                                    {.keep = {"duplicates", "length-ratio"}, .threads = 2});
    double found = 0, lost = 0;
    for (size_t i = 0, k = 0; i < pairs.size(); ++i) {
      const bool is_moved = k < moved.size() && moved[k] == i;
      k += is_moved;
      if (rules[i] == "targets-shuffled") ++(is_moved ? found : lost);
    }
    found /= static_cast<double>(moved.size()), lost /= static_cast<double>(pairs.size() - moved.size());
    EXPECT_GT(found, 0.45) << share;
    EXPECT_LT(lost, is_tanaka ? 0.02 : 0.01) << share;
    RecordProperty(fmt::format("shuffled {}", share), fmt::format("found {:.3f}, lost {:.4f}", found, lost));
  }
}

/// Repeated pairs are dropped, and say nothing of what is usual.
TEST_F(Clean, WhatIsUsualIsLearnedFromPairsThatStay) {
  Pairs pairs = demo_pairs(1500);
  const std::string text = "This page uses cookies.";
  for (int i = 0; i < 2500; ++i) pairs.emplace_back(text, text + std::string(400, 'x'));
  const LinePair longest = *std::ranges::max_element(
      pairs, {}, [](const LinePair& pair) { return pair.second.size() < 400 ? pair.second.size() : 0; });
  for (int i = 0; i < 50; ++i) pairs.push_back(longest);
  const std::vector<std::string> rules = rules_of({put(pairs)});
  EXPECT_GT(std::ranges::count(rules, ""), 1300);
  EXPECT_EQ(std::ranges::count(rules, "truncated"), 0);
}

/// An enormous line has no place in the sample of which everything else is learned.
TEST_F(Clean, OneLineDoesNotDecideWhatIsUsual) {
  Pairs pairs = demo_pairs(1000);
  std::string line;
  for (int i = 0; i < 17'500'000; ++i) line += "x ";
  pairs.insert(pairs.begin(), {line, "Seite"});
  const std::vector<std::string> rules = rules_of({put(pairs)});
  EXPECT_EQ(rules[0], "length-ratio");
  EXPECT_GT(std::ranges::count(rules, ""), 900);
}

/// White space tells no pairs apart, as in data.repeats.
TEST_F(Clean, DuplicatesAreWrittenAlike) {
  Pairs pairs = demo_pairs(300);
  pairs.push_back(pairs[0]);
  pairs.back().second.replace(pairs.back().second.find(' '), 1, "\u3000");
  pairs.insert(pairs.begin(), {pairs[1].first + "  ", pairs[1].second});
  std::vector<std::string> rules = rules_of({put(pairs)}, {.keep = {"scripts"}});
  EXPECT_EQ(rules[0], "white-space");
  EXPECT_EQ(rules[2], "") << "a pair with a fault does not take a better one with it";
  EXPECT_EQ(rules.back(), "duplicates");
  rules = rules_of({put(pairs)}, {.keep = {"white-space"}});
  EXPECT_EQ(rules[0], "");
  EXPECT_EQ(rules[2], "duplicates");
}

TEST_F(Clean, APlaceholderBesideManySourcesIsDropped) {
  Pairs pairs = demo_pairs(2600);
  for (size_t i = 0; i < pairs.size(); i += 20) pairs[i].second = "This translation is not there yet.";
  const std::vector<std::string> rules =
      rules_of({put(pairs)},
               {.keep = {"targets-shuffled", "white-space", "languages-mixed", "length-ratio", "duplicates"}});
  for (size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(rules[i] == "repeated-sides", i % 20 == 0) << rules[i];
}

TEST_F(Clean, LinesThatWereCutAreDropped) {
  Pairs pairs = demo_pairs(2600);
  for (LinePair& pair : pairs) pair.second.resize(bytes_of(pair.second, 30));
  const std::vector<std::string> rules = rules_of({put(pairs)}, {.keep = {"targets-shuffled", "white-space"}});
  for (size_t i = 0; i < pairs.size(); ++i)
    EXPECT_TRUE(bytes_of(pairs[i].second, 29) == pairs[i].second.size() || !rules[i].empty())
        << pairs[i].second;
}

TEST_F(Clean, RefusesWhatItCanNotDo) {
  const CorpusFiles files = put(demo_pairs(300));
  const auto expect = [&](const std::string& part, const CleanOptions& options, const CorpusFiles& text) {
    expect_holds(error_message([&] { rules_of({text}, options); }), part);
  };
  expect("'duplicate': is not a rule that can be left out (did you mean 'duplicates'?)",
         {.keep = {"duplicate"}}, files);
  expect("'empty-lines': is not a rule", {.keep = {"empty-lines"}}, files);
  expect("'tlh'", {.languages = {"tlh", ""}}, files);
  expect("there is no part 3 of 2", {.part = 3, .parts = 2}, files);
  expect("there is no part 0 of 2", {.part = 0, .parts = 2}, files);
  expect("nowhere.en", {}, {folder_ / "nowhere.en", files.target, ""});
  expect("is not a regular file; its text is read more than once", {}, {"/dev/null", files.target, ""});
  const CorpusFiles swapped{files.target, files.source, ""};
  expect("It is the other direction", {.languages = {"en", "de"}}, swapped);
  EXPECT_EQ(rules_of({swapped}, {.languages = {"en", "de"}, .keep = {"languages-mixed"}}).size(), 300u);
  const std::atomic<int> stop{1};
  EXPECT_THROW(rules_of({files}, {.stop = &stop}), Cancelled);
}

}  // namespace
}  // namespace sixfold
