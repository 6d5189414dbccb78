#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
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
  const Outcome text = sixfold(base + " --compare " + file("b", bad) + " " + file("s", good) +
                               " --metric bleu --samples 300 --trials 500");
  EXPECT_EQ(text.status, 0) << text.text;
  const std::string g = folder_ / "g";
  EXPECT_NE(text.text.find("| system | BLEU | p |\n|---|---:|---:|\n| " + g + " | 9"), std::string::npos)
      << text.text;
  EXPECT_NE(text.text.find(" | 0.0020 * |\n"), std::string::npos) << text.text;
  EXPECT_NE(text.text.find(" | 1.0000 |\n"), std::string::npos) << "the same text differs in nothing\n"
                                                                << text.text;
  EXPECT_NE(text.text.find("p: of the difference from " + g +
                           ", by approximate randomization of 60 lines (500 trials).\n*: p < 0.05, adjusted by "
                           "Holm's method for 2 comparisons in each column.\nBLEU|nrefs:1|bs:300|seed:12345|"),
            std::string::npos)
      << text.text;
  const auto json = nlohmann::json::parse(
      sixfold(base + " --compare " + file("b", bad) + " --metric bleu --samples 300 --format json").text);
  ASSERT_EQ(json.size(), 2u);
  EXPECT_EQ(json[0].at("n_bootstrap"), 300);
  EXPECT_FALSE(json[0].contains("p_value"));
  EXPECT_EQ(json[1].at("p_value"), 0.0001);
  EXPECT_EQ(json[1].at("significant"), true);
  EXPECT_EQ(json[1].at("bootstrap_p_value"), 0.0033);
  EXPECT_GT(json[1].at("confidence_var").get<double>(), 1);
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
                                                       " --metric bleu,chrf,chrf++ --trials 2000 --format json")
                                                   .text);
    ASSERT_EQ(reports.size(), 6u);
    size_t i = 0;
    for (const char* metric : {"bleu", "chrf", "chrf++"}) {
      const auto& golden = corpus["scores"][metric];
      std::string signature = reports[i].at("signature");
      signature.erase(signature.find("sixfold-"));
      EXPECT_EQ(signature + "V", golden["signature"]);
      const auto rounded = [](const nlohmann::json& p) { return std::round(p.get<double>() * 1e4) / 1e4; };
      EXPECT_EQ(reports[i + 1].at("bootstrap_p_value"), rounded(golden["p"]));
      EXPECT_EQ(reports[i + 1].at("p_value"), rounded(golden["randomization"][1]));
      i += 2;
    }
  }
}

/// What one comparison finds, two may not: 0.04 is not below half of 0.05.
TEST_F(Evaluate, AdjustsForTheNumberOfComparisons) {
  std::string reference, first, second;
  for (int i = 0; i < 6; ++i) {
    reference += "yes\n";
    first += "no\n";
    second += "yes\n";
  }
  // Of 2^6 ways to swap six lines, two have a difference as large: 0.03.
  const std::string base = "evaluate --metric exact_match -r " + file("r", reference) + " --hypothesis " +
                           file("a", first) + " --format json --compare " + file("b", second);
  const auto one = nlohmann::json::parse(sixfold(base).text);
  EXPECT_NEAR(one[1].at("p_value").get<double>(), 2.0 / 64, 0.01);
  EXPECT_EQ(one[1].at("significant"), true);
  const auto two = nlohmann::json::parse(sixfold(base + " " + file("c", second)).text);
  for (size_t i : {1, 2}) {
    EXPECT_EQ(two[i].at("p_value"), one[1].at("p_value"));
    EXPECT_NEAR(two[i].at("adjusted_p_value").get<double>(), 2 * one[1].at("p_value").get<double>(), 2e-4);
    EXPECT_EQ(two[i].at("significant"), false);
  }
}

TEST_F(Evaluate, ScoresSystemsOfSeveralRuns) {
  const auto run = [&](const std::string& name, int period) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += i % period == period - 1 ? "wrong\n" : fmt::format("right {}\n", i);
    return file(name, text);
  };
  const std::string reference = run("r", 1000), a = run("a1", 2) + "," + run("a2", 4) + "," + run("a3", 5),
                    b = run("b1", 8) + "," + run("b2", 10) + "," + run("b3", 20);
  const std::string base = "evaluate --metric exact_match -r " + reference + " --hypothesis " + a;
  const auto json = nlohmann::json::parse(sixfold(base + " --compare " + b + " --format json").text);
  EXPECT_EQ(json[0].at("runs"), (nlohmann::json{50.0, 75.0, 80.0}));
  EXPECT_EQ(json[0].at("score"), 68.3);
  EXPECT_EQ(json[0].at("standard_deviation"), 16.1);
  EXPECT_EQ(json[1].at("runs"), (nlohmann::json{87.5, 90.0, 95.0}));
  // scipy.stats.ttest_ind([50, 75, 80], [87.5, 90, 95], equal_var=False): 0.1295; the lines alone would differ.
  EXPECT_EQ(json[1].at("p_value"), 0.1295);
  EXPECT_EQ(json[1].at("significant"), false);
  const Outcome table = sixfold(base);
  EXPECT_NE(table.text.find("| " + a + " | 68.3 ± 16.1 |\n\n±: standard deviation of the runs of a system.\n"),
            std::string::npos)
      << table.text;
  const auto few =
      nlohmann::json::parse(sixfold("evaluate --metric exact_match -r " + reference + " --hypothesis " +
                                    run("x", 2) + "," + run("y", 3) + " --compare " + b + " --format json")
                                .text);
  EXPECT_FALSE(few[1].contains("p_value")) << "two runs do not tell how far runs are apart";
  EXPECT_FALSE(few[1].contains("significant"));
  // A comma may also belong to a name.
  EXPECT_EQ(sixfold("evaluate --metric exact_match -r " + reference + " --hypothesis " + run("x,y", 2)).status,
            0);
}

TEST_F(Evaluate, RefusesAFileThatIsGivenTwice) {
  const std::string other = file("other", "the cat\na dog\n");
  expect_error(sixfold(files_ + " --compare " + hypothesis_), "are the same file; name each output once");
  expect_error(sixfold(files_ + " --compare ,"), "',': a file between commas has no name");
  expect_error(sixfold(files_ + " --compare " + other + " " + folder_.path().string() + "/./other"),
               "are the same file");
  expect_error(sixfold(files_ + "," + hypothesis_), "are the same file");
  expect_error(sixfold(files_ + " --compare " + other + ",nowhere"), "nowhere: can't be read");
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

// The lines are sacreBLEU 2.6.0's.
TEST_F(Evaluate, PrintsScoresOfLines) {
  const std::string hypothesis = file("three", "the cat sat on a mat\nbarking, a dog\n\n"),
                    reference = file("right", "the cat sat on the mat\nA dog, barking.\nso\n");
  const std::string base = "evaluate --sentence-level -r " + reference + " --hypothesis " + hypothesis;
  const auto unversioned = [](std::string text) {
    for (size_t at; (at = text.find("sixfold-")) != std::string::npos;) text.erase(at, text.find(' ', at) - at);
    return text;
  };
  const std::string ter = "TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version: = ";
  EXPECT_EQ(unversioned(sixfold(base + " --metric ter").text),
            ter + "16.7\n" + ter + "100.0\n" + ter + "100.0\n");
  const std::string bleu = "BLEU|nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp|version: = ";
  EXPECT_EQ(unversioned(sixfold(base + " --metric bleu").text),
            bleu + "53.7 83.3/60.0/50.0/33.3 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)\n" + bleu +
                "16.4 75.0/16.7/12.5/12.5 (BP = 0.779 ratio = 0.800 hyp_len = 4 ref_len = 5)\n" + bleu +
                "0.0 0.0/0.0/0.0/0.0 (BP = 0.000 ratio = 0.000 hyp_len = 0 ref_len = 1)\n");
  EXPECT_EQ(sixfold(base + " --metric ter --score-only -w 3").text, "16.667\n100.000\n100.000\n");
  const Outcome json = sixfold(base + " --metric bleu --format json");
  EXPECT_EQ(std::ranges::count(json.text, '\n'), 3);
  const auto first = nlohmann::json::parse(json.text.substr(0, json.text.find('\n')));
  EXPECT_EQ(first.at("score"), 53.7);
  EXPECT_EQ(first.at("eff"), "yes");
}

TEST_F(Evaluate, PrintsNumbersAlone) {
  EXPECT_EQ(sixfold(files_ + " --score-only").text, "74.2\n80.3\n");
  EXPECT_EQ(sixfold(files_ + " --score-only --confidence --metric exact_match --samples 100").text.substr(0, 8),
            "50.0 (μ");
}

TEST_F(Evaluate, ScoresByAProgram) {
  const std::string equal =
      R"( --metric-command "sed -E 's/.*\"output\":\"(.*)\",\"references\":\[\"\1\"\].*/1/;t;s/.*/0/'")";
  const Outcome outcome = sixfold(files_ + " --metric bleu" + equal);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.text.starts_with("BLEU|")) << outcome.text;
  EXPECT_NE(outcome.text.find("\ncommand|nrefs:1|version:sixfold-"), std::string::npos) << outcome.text;
  EXPECT_TRUE(outcome.text.ends_with(" = 0.5\n")) << outcome.text;
  EXPECT_EQ(sixfold(files_ + " --metric command --sentence-level --score-only" + equal).text, "0.0\n1.0\n");
  const std::string source = file("source", "die Katze\nein \"Hund\"\n"), seen = folder_ / "seen";
  sixfold(files_ + " --metric command --source " + source + " --metric-command 'cat > " + seen + "; echo 1'");
  EXPECT_EQ(shell("grep -c '\"source\":\"ein \\\\\"Hund' " + seen).text, "1\n");
  expect_error(sixfold(files_ + " --metric command"), "give metric_command");
  expect_error(sixfold(files_ + " --source " + source), "--source: is read by --metric-command alone");
  expect_error(sixfold(files_ + " --metric-command 'echo 1' --source " + file("one", "one\n")),
               "one has 1 line and ");
  EXPECT_EQ(sixfold(files_ + " --metric-command 'exit 3'").status, 1);
  EXPECT_EQ(shell("trap '' CHLD; " SIXFOLD_BINARY " " + files_ + " --metric-command 'exit 3'").status, 1);
  expect_error(sixfold(files_ + " --metric bleu --metric-command ''"), "--metric-command: names no program");
  expect_error(sixfold(files_ + " --confidence --metric-command 'echo 1'"), "need one for each");
  const Outcome late = sixfold(files_ + " --metric command --metric-timeout 0.2 --metric-command 'sleep 60'");
  EXPECT_EQ(late.status, 1);
  EXPECT_NE(late.text.find("did not end within 0.2 seconds"), std::string::npos) << late.text;
}

/// A signal ends the program of a metric as well.
TEST_F(Evaluate, EndsAProgramAtASignal) {
  const std::string child = folder_ / "child";
  const std::string command = "'sleep 100 & echo $! > " + child + "; wait'";
  const Outcome outcome = shell(
      SIXFOLD_BINARY " " + files_ + " --metric-command " + command + " & until [ -s " + child +
      " ]; do sleep 0.05; done; kill -TERM $!; wait $!; echo status $?; sleep 0.2; grep State: /proc/$(cat " +
      child + ")/status");
  EXPECT_NE(outcome.text.find("status 143"), std::string::npos) << outcome.text;
  EXPECT_EQ(outcome.text.find("sleeping"), std::string::npos) << outcome.text;
}

/// Every two options go together, or are refused by a message that names one of them.
TEST_F(Evaluate, TakesOrRefusesAnyTwoOptions) {
  struct Option {
    std::string text, metric;
  };
  const std::string other = file("other", "a cat sat on the mat\nA dog barked.\n");
  const std::vector<Option> options{{"--lowercase", "bleu"},
                                    {"--tokenize zh", "bleu"},
                                    {"--smooth floor", "bleu"},
                                    {"--bleu-max-ngram-order 2", "bleu"},
                                    {"--bleu-effective-order", "bleu"},
                                    {"--chrf-char-order 3", "chrf"},
                                    {"--chrf-word-order 1", "chrf"},
                                    {"--chrf-beta 1", "chrf"},
                                    {"--chrf-whitespace", "chrf"},
                                    {"--chrf-eps-smoothing", "chrf"},
                                    {"--ter-normalized", "ter"},
                                    {"--ter-no-punct --ter-asian-support", "ter"},
                                    {"--ter-case-sensitive", "ter"},
                                    {"--metric-command 'printf \"1\\n2\\n\"'", "command"},
                                    {"--sentence-level", ""},
                                    {"--score-only", ""},
                                    {"--format json", ""},
                                    {"--width 3", ""},
                                    {"--confidence --samples 10", ""},
                                    {"--compare " + other + " --trials 10", ""},
                                    {"-r " + other, ""}};
  const std::set<std::pair<std::string, std::string>> refused{{"--lowercase", "--ter-case-sensitive"},
                                                              {"--lowercase", "--metric-command"},
                                                              {"--sentence-level", "--confidence"},
                                                              {"--sentence-level", "--compare"},
                                                              {"--score-only", "--format"},
                                                              {"--score-only", "--compare"}};
  for (size_t i = 0; i < options.size(); ++i)
    for (size_t k = i + 1; k < options.size(); ++k) {
      const Option &one = options[i], &two = options[k];
      std::string metric = one.metric.empty() ? two.metric : one.metric;
      if (!two.metric.empty() && two.metric != metric) metric += "," + two.metric;
      if (metric.empty()) metric = "exact_match";
      const Outcome outcome = sixfold(files_ + " --metric " + metric + " " + one.text + " " + two.text);
      const auto name = [](const Option& option) { return option.text.substr(0, option.text.find(' ')); };
      if (refused.contains({name(one), name(two)})) {
        expect_error(outcome, name(one));
      } else {
        EXPECT_EQ(outcome.status, 0) << one.text << " " << two.text << "\n" << outcome.text;
      }
    }
}

TEST_F(Evaluate, RefusesSettingsOfOtherMetrics) {
  expect_error(sixfold(files_ + " --ter-normalized"), "--ter-normalized: none of the metrics");
  expect_error(sixfold(files_ + " --metric ter --chrf-beta 1"), "--chrf-beta: none of the metrics");
  expect_error(sixfold(files_ + " --metric ter --bleu-max-ngram-order 3"), "--bleu-max-ngram-order: none of");
  expect_error(sixfold(files_ + " --sentence-level"),
               "--sentence-level prints the scores of one system by one");
  expect_error(sixfold(files_ + " --tokenize spm"), "spm needs a model");
  for (const char* option : {"--samples 10", "--seed 3", "--trials 10"})
    expect_error(sixfold(files_ + " " + option), "has no effect without");
  expect_error(sixfold(files_ + " --confidence --trials 10"), "--trials has no effect without --compare");
  expect_error(sixfold(files_ + " --tokenize spm --spm-model " + reference_), "ref");
  EXPECT_EQ(sixfold(files_ + " --metric chrf --tokenize intl --smooth floor").status, 0) << "as in version 0.3";
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
