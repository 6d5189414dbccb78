#include "serve/run_watcher.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "metrics/metric.h"
#include "serve/dashboard.h"
#include "temporary_folder.h"

namespace sixfold::serve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::string line(int64_t update, double loss) {
  return Json{{"update", update}, {"loss", loss}, {"seconds", static_cast<double>(update) / 2}}.dump() + "\n";
}

class RunWatcherTest : public testing::Test {
 protected:
  RunWatcherTest() { fs::create_directories(folder_ / "run"); }
  void write(const std::string& text) { write_file_atomically(log_, text); }
  void append(const std::string& text) { std::ofstream(log_, std::ios::app) << text; }
  Json look() { return Json::parse(watcher_.read_json()); }
  std::vector<double> updates(const std::string& curve) {
    return look().at("curves").at(curve).at(0).get<std::vector<double>>();
  }

  TemporaryFolder folder_;
  const std::string log_ = folder_ / "run" + "/train.jsonl";
  RunWatcher watcher_{"run", folder_ / "run"};
};

TEST(DownsampledCurve, KeepsTheShapeOfACurveOfAnyLength) {
  DownsampledCurve curve;
  constexpr int points = 1'000'000;
  for (int i = 1; i <= points; ++i) curve.add(i, 3.0 * i);
  ASSERT_LE(curve.updates().size(), DownsampledCurve::max_points);
  ASSERT_GE(curve.updates().size(), DownsampledCurve::max_points / 2);
  ASSERT_EQ(curve.values().size(), curve.updates().size());
  for (size_t i = 0; i < curve.updates().size(); ++i) {
    EXPECT_NEAR(curve.values()[i], 3 * curve.updates()[i], 1e-3);
    EXPECT_GT(curve.updates()[i], i > 0 ? curve.updates()[i - 1] : 0);
  }
  EXPECT_LT(curve.updates().front(), points / 500);
  EXPECT_GT(curve.updates().back(), points - points / 500);
}

TEST(DownsampledCurve, AFewValuesThatAreNotFiniteLeaveTheCurve) {
  DownsampledCurve curve;
  for (int i = 0; i < 200'000; ++i) curve.add(i, i % 150 == 0 ? NAN : 1.0);
  for (const double value : curve.values()) EXPECT_EQ(value, 1);
}

TEST(DownsampledCurve, ForgetsWhatARollbackUndid) {
  DownsampledCurve curve;
  for (int i = 1; i <= 10; ++i) curve.add(i, i);
  curve.truncate(4);
  curve.add(5, 50);
  EXPECT_EQ(curve.updates(), (std::vector<double>{1, 2, 3, 5}));
  EXPECT_EQ(curve.values(), (std::vector<double>{1, 2, 3, 50}));
}

TEST_F(RunWatcherTest, FollowsALogThatGrows) {
  EXPECT_TRUE(look().at("curves").empty());
  const int64_t before = watcher_.version();
  write(line(10, 4) + line(20, 3).substr(0, 15));
  EXPECT_GT(watcher_.version(), before);
  EXPECT_EQ(updates("loss"), (std::vector<double>{10}));
  EXPECT_FALSE(look().contains("problem"));  // the line is only not whole yet
  append(line(20, 3).substr(15) + "{\"update\":20,\"validation\":{\"bleu\":7}}\n");
  EXPECT_EQ(updates("loss"), (std::vector<double>{10, 20}));
  EXPECT_EQ(updates("validation bleu"), (std::vector<double>{20}));
  EXPECT_EQ(look().at("seconds"), 10);
  const int64_t read = watcher_.version();
  EXPECT_EQ(watcher_.version(), read);
}

TEST_F(RunWatcherTest, FollowsARunThatIsReplacedOrDeleted) {
  write(line(10, 4) + line(20, 3));
  EXPECT_EQ(updates("loss").size(), 2u);
  write(line(5, 9) + line(6, 8) + line(7, 8));
  EXPECT_EQ(updates("loss"), (std::vector<double>{5, 6, 7}));
  fs::remove_all(folder_ / "run");
  EXPECT_TRUE(look().at("curves").empty());
  fs::create_directories(folder_ / "run");
  write(line(1, 2));
  EXPECT_EQ(updates("loss"), (std::vector<double>{1}));
}

/// `train --resume` cuts the log in place, and it may have grown again before the next look.
TEST_F(RunWatcherTest, FollowsARunThatIsResumed) {
  write(line(10, 4) + line(20, 3) + line(30, 2));
  EXPECT_EQ(updates("loss").size(), 3u);
  fs::resize_file(log_, line(10, 4).size());
  append(line(12, 3) + line(14, 2) + line(16, 1) + line(18, 0.5));
  EXPECT_EQ(updates("loss"), (std::vector<double>{10, 12, 14, 16, 18}));
}

TEST_F(RunWatcherTest, ARollbackUndoesWhatCameAfter) {
  write(line(10, 4) + line(20, 3) + R"({"update":20,"validation":{"bleu":1},"samples":[{"input":"a"}]})" +
        "\n" + line(30, 9) + R"({"update":35,"rollback_to":15,"reason":"a spike"})" + "\n" + line(20, 2.5));
  EXPECT_EQ(updates("loss"), (std::vector<double>{10, 20}));
  EXPECT_EQ(look().at("curves").at("loss").at(1).at(1), 2.5);
  EXPECT_TRUE(updates("validation bleu").empty());
  EXPECT_TRUE(look().at("validations").empty());
}

TEST_F(RunWatcherTest, SaysWhatIsWrongWithALogAndReadsOn) {
  write("The old dog\n" + line(10, 4) + "{\"update\":1e300}\n{\"loss\":2}\n" + line(20, 3));
  EXPECT_EQ(updates("loss"), (std::vector<double>{10, 20}));
  const auto problem = look().at("problem").get<std::string>();
  EXPECT_NE(problem.find("train.jsonl:4: not a line of a training log"), std::string::npos) << problem;
  write(std::string((1 << 20) + 70'000, 'x') + "\n" + line(30, 1));
  EXPECT_EQ(updates("loss"), (std::vector<double>{30}));
  fs::remove(log_);
  fs::create_directories(log_);
  EXPECT_TRUE(look().at("curves").empty());
}

/// The page draws what has the form of samples, and nothing else.
TEST_F(RunWatcherTest, SamplesOfAnotherFormAreAProblem) {
  const auto with = [](const std::string& samples) {
    return "{\"update\":1,\"loss\":2,\"samples\":" + samples + "}\n";
  };
  for (const char* odd :
       {"[null]", "[1]", R"([{"input":1}])", R"([{"output":null}])", R"([{"input":"a","attention":[]}])",
        R"([{"attention":{"layer":0,"target":["a"],"weights":[[1]]}}])",
        R"([{"attention":{"layer":0,"source":["a"],"target":["a"],"weights":[["1"]]}}])"}) {
    SCOPED_TRACE(odd);
    write(with(odd) + line(2, 3));
    EXPECT_TRUE(look().at("validations").empty());
    EXPECT_NE(look().at("problem").get<std::string>().find("train.jsonl:1: its samples"), std::string::npos);
    EXPECT_EQ(updates("loss"), (std::vector<double>{1, 2})) << "its figures count";
  }
  const char* good =
      R"([{"input":"a","output":"b"},{"attention":{"layer":0,"source":["a"],"target":["b"],"weights":[[1]]}}])";
  write(with(good));
  EXPECT_EQ(look().at("validations").size(), 1u);
}

/// It stays in sight after a rollback, since the run does not say it again.
TEST_F(RunWatcherTest, ShowsWhatARunSaysOfItself) {
  const std::string said = R"({"update":20,"diagnosis":{"id":"overfitting","text":"it <b>rose</b>"}})";
  write(line(10, 4) + said + "\n" + R"({"update":35,"rollback_to":15,"reason":"a spike"})" + "\n" +
        line(16, 3));
  EXPECT_EQ(look().at("diagnoses").dump(), R"([{"id":"overfitting","text":"it <b>rose</b>","update":20}])");
  EXPECT_EQ(updates("loss"), (std::vector<double>{10, 16}));
  // Of another form, or too many or too long, it is no diagnosis.
  write(line(10, 4) + R"({"update":20,"diagnosis":"x"})" + "\n" + R"({"update":20,"diagnosis":{"id":1}})" +
        "\n" + R"({"update":20,"diagnosis":{"id":"a","text":")" + std::string(10'000, 'x') + "\"}}\n");
  EXPECT_TRUE(look().at("diagnoses").empty());
  for (int i = 0; i < 100; ++i) append(said + "\n");
  EXPECT_EQ(look().at("diagnoses").size(), 32u);
}

TEST_F(RunWatcherTest, ADeepConfigIsAProblemAndNoCrash) {
  write(line(1, 2));
  const std::string deep(300'000, '[');
  write_file_atomically(folder_ / "run" + "/config.json",
                        R"({"task":"translation","model":{"a":)" + deep + std::string(deep.size(), ']') + "}}");
  EXPECT_NE(look().value("problem", "").find("config.json"), std::string::npos);
  EXPECT_EQ(updates("loss"), std::vector<double>{1});
}

TEST_F(RunWatcherTest, WhatIsNotFiniteIsAGap) {
  write(R"({"update":1,"loss":null})"
        "\n" +
        line(2, 3));
  EXPECT_EQ(look().at("curves").at("loss").dump(), "[[1.0,2.0],[null,3.0]]");
}

TEST_F(RunWatcherTest, AnswersAreBoundedWhateverTheLogHas) {
  const std::string words(60'000, 'w');
  for (int i = 1; i <= 300; ++i)
    append(Json{{"update", i},
                {"validation", {{"score " + std::to_string(i), 1}, {"bleu", i}}},
                {"samples", {{{"input", i % 2 ? "short" : words + words}}}}}
               .dump() +
           "\n");
  const Json run = look();
  EXPECT_LE(run.at("curves").size(), 64u);
  EXPECT_TRUE(run.at("curves").contains("validation bleu"));
  ASSERT_EQ(run.at("validations").size(), 100u);
  EXPECT_EQ(run.at("validations").back().at("update"), 299);
  EXPECT_LT(run.dump().size(), 100'000u);
}

TEST(Dashboard, AnswersThePageItsFilesAndTheRuns) {
  const TemporaryFolder folder;
  for (const char* run : {"a/run", "b/run", "<b>c"}) fs::create_directories(folder / run);
  write_file_atomically(folder / "a/run" + "/train.jsonl", line(10, 4));
  write_file_atomically(folder / "a/run" + "/config.json", R"({"task":"translation","model":{"d_model":64}})");
  Dashboard dashboard({folder / "a/run", folder / "b/run", folder / "<b>c/"});
  const auto get = [&](const std::string& path, const std::string& version = "") {
    HttpRequest request{.method = "GET", .path = path};
    if (!version.empty()) request.query.emplace("version", version);
    return dashboard.answer(request);
  };
  EXPECT_EQ(get("/").status, 200);
  EXPECT_TRUE(get("/").content_type.starts_with("text/html"));
  EXPECT_EQ(get("/page/none").status, 404);
  EXPECT_EQ(get("/train.jsonl").status, 404);
  EXPECT_EQ(get("/page/../dashboard.html").status, 404);
  EXPECT_EQ(dashboard.answer({.method = "POST", .path = "/runs"}).status, 405);
  const Json first = Json::parse(get("/runs").body);
  ASSERT_EQ(first.at("runs").size(), 3u);
  EXPECT_EQ(first.at("runs").at(0).at("name"), folder / "a/run");  // two runs have the same last name
  EXPECT_EQ(first.at("runs").at(2).at("name"), "<b>c");
  EXPECT_EQ(first.at("runs").at(0).at("settings").at("model").at("d_model"), 64);
  for (const MetricEntry& metric : metric_table())
    EXPECT_EQ(first.at("titles").at(std::string(metric.name)), metric.title);
  const std::string version = first.at("version").dump();
  EXPECT_FALSE(Json::parse(get("/runs", version).body).contains("runs"));
  write_file_atomically(folder / "b/run" + "/train.jsonl", line(20, 4));
  EXPECT_TRUE(Json::parse(get("/runs", version).body).contains("runs"));
}

}  // namespace
}  // namespace sixfold::serve
