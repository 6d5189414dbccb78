#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "tasks/translation/n_best.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Rerank : public testing::Test {
 protected:
  Rerank() { write_small_model(first_, 1), write_small_model(other_, 2); }

  std::string file(const std::string& name, const std::string& text) {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  Outcome rerank(const std::string& options) {
    return shell(SIXFOLD_BINARY " rerank " + other_ + " --source " + source_ + " --input " + list_ + " " +
                 options + " 2>/dev/null");
  }
  Outcome refused(const std::string& list, const std::string& options = "") {
    return shell(SIXFOLD_BINARY " rerank " + other_ + " --source " + source_ + " --input " + file("bad", list) +
                 " " + options + " --output " + (folder_ / "none"));
  }
  static std::vector<NBestLine> read(const std::string& text) {
    std::vector<NBestLine> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.push_back(parse_n_best_line(line, "output"));
    return all;
  }

  TemporaryFolder folder_;
  const std::string first_ = folder_ / "first", other_ = folder_ / "other";
  const std::string source_ = file("source", "a b c\n\nh g\n");
  const std::string list_ = folder_ / "list";
};

/// A list of the first model gets the scores that the other model gives, in either direction.
TEST_F(Rerank, AddsTheScoresOfTheOtherModel) {
  shell(SIXFOLD_BINARY " translate " + first_ + " --n-best 4 --format moses --input " + source_ + " --output " +
        list_);
  const std::vector<NBestLine> before = read(read_file(list_));
  const std::vector<std::string> sources{"a b c", "", "h g"};
  const Translator other(other_, {.threads = 1});
  for (const bool reverse : {false, true}) {
    std::vector<NBestLine> expected = before;
    for (NBestLine& line : expected) {
      if (line.text.empty()) continue;
      std::vector<std::string> from{sources[line.index]}, to{line.text};
      if (reverse) std::swap(from, to);
      const double score = other.score(from, to)[0].score;
      line.features += fmt::format(" other= {:.6f}", score);
      line.score += 0.5 * score;
    }
    std::ranges::stable_sort(expected, [](const auto& a, const auto& b) {
      if (a.index != b.index) return a.index < b.index;
      return a.text.empty() == b.text.empty() ? a.score > b.score : b.text.empty();
    });
    const std::vector<NBestLine> found = read(
        rerank(std::string("--weight 0.5 --name other --format moses") + (reverse ? " --reverse" : "")).text);
    ASSERT_EQ(found.size(), expected.size());
    std::string best;
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].text, expected[i].text) << i;
      EXPECT_EQ(found[i].features.substr(0, found[i].features.rfind('.')),
                expected[i].features.substr(0, expected[i].features.rfind('.')));
      EXPECT_NEAR(found[i].score, expected[i].score, 2e-6);
      if (i == 0 || found[i].index != found[i - 1].index) best += found[i].text + "\n";
    }
    EXPECT_EQ(rerank(std::string("--weight 0.5") + (reverse ? " --reverse" : "")).text, best);
  }
  std::vector<NBestLine> usual = before;
  std::ranges::stable_sort(usual, {},
                           [](const NBestLine& line) { return std::pair(line.index, line.text.empty()); });
  const std::vector<NBestLine> zero_weight = read(rerank("--weight 0 --format moses --threads 2").text);
  ASSERT_EQ(zero_weight.size(), usual.size());
  for (size_t i = 0; i < usual.size(); ++i) EXPECT_EQ(zero_weight[i].text, usual[i].text) << i;
}

TEST_F(Rerank, AnEnsembleGivesItsScores) {
  const std::string third = folder_ / "third";
  write_small_model(third, 3);
  file("list", "0 ||| a b ||| f= 1 ||| -1\n2 ||| h ||| f= 1 ||| -2\n");
  const Translator ensemble(other_, {.threads = 1, .ensemble = {third}, .ensemble_weights = {1, 3}});
  std::vector<std::string> sources{"a b c", "h g"}, targets{"a b", "h"};
  const auto scores = ensemble.score(sources, targets);
  const auto found = read(rerank("--format moses --ensemble " + third + " --ensemble-weights 1,3").text);
  ASSERT_EQ(found.size(), 2u);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(found[i].score, -1.0 - static_cast<double>(i) + scores[i].score, 2e-6) << i;
  expect_error(refused("0 ||| a ||| f ||| 1\n", "--ensemble-weights 1"), "no effect without an ensemble");
}

TEST_F(Rerank, LinesWithoutTranslationsStayEmpty) {
  file("list", "2 ||| a ||| f= 1 ||| -1 ||| 0-0\n2 ||| b ||| f= 1 ||| -2 ||| 0-1\n");
  const std::string text = rerank("").text;
  EXPECT_TRUE(text == "\n\na\n" || text == "\n\nb\n") << text;
  EXPECT_NE(rerank("--format moses").text.find(" ||| 0-1\n"), std::string::npos);
}

/// An empty text has the score of the list alone, which is higher than all others.
TEST_F(Rerank, TranslationsWithoutTextComeLast) {
  file("list", "0 |||  ||| f= 1 ||| -0.1\n0 ||| a ||| f= 1 ||| -1\n0 ||| b ||| f= 1 ||| -2\n");
  for (const std::string reverse : {"", "--reverse "}) {
    EXPECT_NE(rerank(reverse).text, "\n\n\n");
    EXPECT_NE(rerank(reverse + "--format moses").text.find("\n0 |||  ||| f= 1 ||| -0.100000\n"),
              std::string::npos);
  }
}

TEST_F(Rerank, FaultsOfTheListAreNamed) {
  expect_error(refused(""), "has no translations");
  expect_error(refused("a b\n"), "bad:1: expected 'number ||| text");
  expect_error(refused("0 ||| a ||| f ||| 1\n3 ||| a ||| f ||| 1\n"),
               "bad:2: has the number 3, which counts from 0, but");
  expect_error(refused("18446744073709551615 ||| a ||| f ||| 1\n"), "has the number 18446744073709551615");
  expect_error(refused("1 ||| a ||| f ||| 1\n0 ||| a ||| f ||| 1\n"), "bad:2: the number 0 comes after");
  expect_error(refused("0 ||| a ||| f ||| 1\n", "--name 'a b'"), "--name: expected a name without spaces");
  expect_error(refused("0 ||| a ||| f ||| 1\n", "--weight nan"), "--weight");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
  expect_error(shell(SIXFOLD_BINARY " rerank " + other_ + " --source - --input -"),
               "can't both be standard input");
  expect_error(shell(SIXFOLD_BINARY " rerank " + other_ + " --source " + source_ + " --input " + source_ +
                     " --output " + source_),
               "");
}

}  // namespace
}  // namespace sixfold
