#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "metrics/metric_goldens.h"
#include "program/shell.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Evaluate : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    std::ofstream(path) << text;
    return path;
  }

  TemporaryFolder folder_;
  const std::string reference_ = file("ref", "the cat sat on the mat\nA dog, barking.\n");
  const std::string hypothesis_ = file("hyp", "the cat sat on a mat\nA dog, barking.\n");
  const std::string files_ = "evaluate --reference " + reference_ + " --hypothesis " + hypothesis_;
};

// The numbers of the next three tests are sacreBLEU 2.6.0's.
TEST_F(Evaluate, PrintsBleuAndChrf) {
  const Outcome outcome = sixfold(files_);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.text.find("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:sixfold-"),
            std::string::npos);
  EXPECT_NE(
      outcome.text.find(" = 74.2 90.9/77.8/71.4/60.0 (BP = 1.000 ratio = 1.000 hyp_len = 11 ref_len = 11)\n"),
      std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find("chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:sixfold-"),
            std::string::npos);
  EXPECT_NE(outcome.text.find(" = 80.3\n"), std::string::npos) << outcome.text;
}

TEST_F(Evaluate, TakesOptionsOfBothMetrics) {
  const std::string second = file("ref2", "THE cat is on a mat\nThe dog barks.\n");
  const Outcome outcome =
      sixfold(files_ + " --reference " + second + " --metric chrf++,bleu --lowercase --tokenize intl " +
              "--smooth floor --smooth-value 0.5 --width 3");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.text.find("nrefs:2|case:lc|eff:no|tok:intl|smooth:floor[0.50]"), std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find(" = 84.684 100.0/100.0/85.7/60.0 (BP"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" = 81.352\n"), std::string::npos) << outcome.text;
}

TEST_F(Evaluate, PrintsJson) {
  const auto one = nlohmann::json::parse(sixfold(files_ + " --metric bleu --format json").text);
  EXPECT_EQ(one["name"], "BLEU");
  EXPECT_EQ(one["score"], 74.2);
  EXPECT_EQ(one["tok"], "13a");
  const auto both = nlohmann::json::parse(sixfold(files_ + " --metric bleu,chrf --format json").text);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[1]["name"], "chrF2");
  EXPECT_EQ(both[1]["nc"], "6");
}

TEST_F(Evaluate, ComparesTwoSystems) {
  std::string reference, good, bad;
  for (int i = 0; i < 60; ++i) {
    const std::string line = "the cat number " + std::to_string(i) + " sat on the mat and slept";
    reference += line + "\n";
    good += line + (i % 5 == 0 ? " well" : "") + "\n";
    bad += (i % 2 == 0 ? "a dog came by" : line) + "\n";
  }
  const std::string base = "evaluate --reference " + file("r", reference) + " --hypothesis " + file("g", good);
  const Outcome text = sixfold(base + " --compare " + file("b", bad) + " --metric bleu --samples 300");
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_NE(text.text.find("(μ = "), std::string::npos) << text.text;
  EXPECT_NE(text.text.find("p = 0.0033 (paired bootstrap, 300 samples)"), std::string::npos) << text.text;
  EXPECT_NE(text.text.find("BLEU|nrefs:1|bs:300|seed:12345|case:mixed|"), std::string::npos) << text.text;
  const auto json = nlohmann::json::parse(
      sixfold(base + " --compare " + file("b", bad) + " --metric bleu --samples 300 --format json").text);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0].at("n_bootstrap"), 300);
  EXPECT_LT(json[1].at("p_value").get<double>(), 0.01);
  EXPECT_GT(json[1].at("confidence_var").get<double>(), 1);
  const Outcome same = sixfold(base + " --compare " + file("g", good) + " --metric bleu --samples 100");
  EXPECT_NE(same.text.find("difference +0.0, p = 0.0099 (paired bootstrap, 100 samples; both score the same in "
                           "every sample, so p has no meaning)"),
            std::string::npos)
      << same.text;
  EXPECT_NE(sixfold(base + " --confidence --metric chrf").text.find(" ± "), std::string::npos);
  expect_error(sixfold(base + " --compare " + file("short", "one\n")), "line n of both");
}

TEST_F(Evaluate, ComparesAsSacreBleu) {
  for (const auto& corpus : metric_goldens()["paired"]) {
    const auto lines = [&](const char* name) {
      std::string text;
      for (const auto& line : corpus[name]) text += line.get<std::string>() + "\n";
      return file(name, text);
    };
    const auto reports = nlohmann::json::parse(sixfold("evaluate -r " + lines("reference") + " --hypothesis " +
                                                       lines("first") + " --compare " + lines("second") +
                                                       " --metric bleu,chrf,chrf++ --format json")
                                                   .text);
    ASSERT_EQ(reports.size(), 6u);
    size_t i = 0;
    for (const char* metric : {"bleu", "chrf", "chrf++"}) {
      const auto& golden = corpus["scores"][metric];
      std::string signature = reports[i].at("signature");
      signature.erase(signature.find("sixfold-"));
      EXPECT_EQ(signature + "V", golden["signature"]);
      EXPECT_EQ(reports[i + 1].at("p_value"), std::round(golden["p"].get<double>() * 1e4) / 1e4);
      i += 2;
    }
  }
}

TEST_F(Evaluate, TakesSeveralReferencesAfterOneOption) {
  const std::string second = file("ref2", "the cat is on a mat\nThe dog barks.\n");
  const Outcome together = sixfold("evaluate -r " + reference_ + " " + second + " --hypothesis " + hypothesis_);
  EXPECT_EQ(together.status, 0) << together.text;
  EXPECT_NE(together.text.find("nrefs:2|"), std::string::npos) << together.text;
  EXPECT_EQ(together.text, sixfold(files_ + " --reference " + second).text);
}

// The numbers are sacreBLEU 2.6.0's.
TEST_F(Evaluate, ComparesAnswersAsSquad) {
  const std::string other = file("other", "cat on mat\nNo dog!\n");
  const Outcome outcome = sixfold("evaluate --metric squad_exact_match,squad_f1,squad_f1 --reference " +
                                  reference_ + " " + other + " --hypothesis " + hypothesis_);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("squad_exact_match|nrefs:2|version:sixfold-"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" = 100.0\n"), std::string::npos) << outcome.text;  // "on a mat" is "on the mat"
  EXPECT_EQ(std::ranges::count(outcome.text, '\n'), 2) << "each metric once";
  EXPECT_NE(sixfold("evaluate --metric squad_f1 --lowercase -r " + other + " --hypothesis " + hypothesis_)
                .text.find("case never counts"),
            std::string::npos);
  const Outcome one =
      sixfold("evaluate --metric squad_f1 --reference " + other + " --hypothesis " + hypothesis_);
  EXPECT_NE(one.text.find(" = 67.9\n"), std::string::npos) << one.text;  // (6/7 + 1/2) / 2
}

/// A failed item has an empty line, which is wrong. A reference without one would count as right beside it.
TEST_F(Evaluate, RefusesBlankReferencesOfLabelsAndAnswers) {
  const std::string labels = file("labels", "a\n\n \tnote\nb\n"),
                    answers = file("answers", "t\tq\ta\nt\tq\t\n");
  const std::string hypothesis = " --hypothesis " + file("said", "a\n\n\nb\n");
  for (const std::string metric : {"accuracy", "macro_f1", "squad_f1", "bleu,squad_exact_match"})
    expect_error(sixfold("evaluate --metric " + metric + " --reference " + labels + hypothesis),
                 "labels:2: has no ");
  expect_error(sixfold("evaluate --metric accuracy --hypothesis " + labels + " --reference " +
                       file("noted", "a\nb\n \tnote\nb\n")),
               "noted:3: has no label to compare with; remove the line");
  expect_error(
      sixfold("evaluate --metric squad_f1 --hypothesis " + file("two", "a\n\n") + " --reference " + answers),
      "answers:2: has no answer to compare with");
  EXPECT_EQ(sixfold("evaluate --metric bleu,exact_match --reference " + labels + hypothesis).status, 0);
  const Outcome failed = sixfold("evaluate --metric accuracy,squad_exact_match --reference " +
                                 file("right", "a\nb\nc\nb\n") + hypothesis);
  EXPECT_EQ(failed.status, 0);
  EXPECT_NE(failed.text.find(" = 50.0\n"), std::string::npos) << failed.text;
}

TEST_F(Evaluate, CountsAByteOrderMarkAsSacreBleu) {
  const std::string marked = file("marked", "\uFEFFthe cat sat on the mat\nA dog, barking.\n");
  const Outcome outcome = sixfold("evaluate -r " + reference_ + " --hypothesis " + marked);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.text.find("warning: " + marked + " begins with a byte order mark (U+FEFF)"),
            std::string::npos)
      << outcome.text;
  EXPECT_NE(outcome.text.find(" = 86.3 90.9/"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" = 99.2\n"), std::string::npos) << outcome.text;
  EXPECT_EQ(sixfold("evaluate -r " + marked + " --hypothesis " + reference_ + " --metric chrf").status, 0);
}

TEST_F(Evaluate, ReadsTheHypothesisFromStandardInput) {
  const Outcome piped =
      shell("cat " + hypothesis_ + " | " SIXFOLD_BINARY " evaluate --reference " + reference_);
  EXPECT_EQ(piped.status, 0);
  EXPECT_EQ(piped.text, sixfold(files_).text);
  expect_error(shell("cat " + hypothesis_ + " | " SIXFOLD_BINARY " evaluate --reference -"),
               "--hypothesis (unless it is given) and --compare can't both be standard input");
}

TEST_F(Evaluate, RefusesTextsOfDifferentLength) {
  const std::string shorter = file("short", "one line\n");
  expect_error(sixfold("evaluate --reference " + reference_ + " --hypothesis " + shorter),
               "short has 1 line and ");
}

TEST_F(Evaluate, RefusesMissingAndEmptyFiles) {
  expect_error(sixfold("evaluate --reference " + reference_ + " --hypothesis nowhere"),
               "nowhere: can't be read");
  const std::string empty = file("empty", "");
  expect_error(sixfold("evaluate --hypothesis " + hypothesis_ + " --reference " + empty), "empty: is empty");
  expect_error(sixfold("evaluate --hypothesis " + hypothesis_), "--reference is required");
}

TEST_F(Evaluate, RefusesInvalidUtf8ByFileAndLine) {
  const std::string bad = file("bad", "fine\nnot \xff fine\n");
  const std::string command = "evaluate --reference " + reference_ + " --hypothesis " + bad;
  expect_error(sixfold(command),
               "bad:2: byte 5 is not valid UTF-8; convert the text, or choose --invalid-utf8 replace or skip");
  EXPECT_EQ(sixfold(command + " --invalid-utf8 replace").status, 0);
}

TEST_F(Evaluate, RefusesUnknownNamesAndValues) {
  expect_error(sixfold(files_ + " --metric blue"), "expected one of bleu, chrf, chrf++");
  expect_error(sixfold(files_ + " --tokenize 13b"), "(perhaps 13a)");
  expect_error(sixfold(files_ + " --smooth-value 1"), "--smooth-value");
  expect_error(sixfold(files_ + " --smooth floor --smooth-value nan"), "--smooth-value");
  expect_error(sixfold(files_ + " --smooth floor --smooth-value -1"), "--smooth-value");
  expect_error(sixfold(files_ + " --width 99"), "--width");
}

}  // namespace
}  // namespace sixfold
