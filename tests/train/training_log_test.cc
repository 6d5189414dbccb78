#include "train/training_log.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class TrainingLog : public testing::Test {
 protected:
  std::map<std::string, LoggedCurve> read(const std::string& text) {
    write_file_atomically(path_, text);
    return read_training_log(path_);
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_ / "train.jsonl";
};

std::string line(int update) {
  return "{\"update\": " + std::to_string(update) + ", \"loss\": 2.5, \"validation\": {\"bleu\": 31}}\n";
}

TEST_F(TrainingLog, HasACurveForEachFigure) {
  const auto curves = read(line(10) + "\n" + line(20));
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves.at("loss").updates, (std::vector<double>{10, 20}));
  EXPECT_EQ(curves.at("validation bleu").values, (std::vector<double>{31, 31}));
}

TEST_F(TrainingLog, SkipsLinesThatAreNotWholeWithOneWarning) {
  const std::string half = line(15).substr(0, 21);
  const std::string zeros(40, '\0');  // what some file systems leave after the power has failed
  for (const std::string& text : {line(10) + half, line(10) + half + line(15) + line(20),
                                  line(10) + zeros + "\n" + half + "\n" + line(20)}) {
    testing::internal::CaptureStderr();
    const auto curves = read(text);
    const std::string warning = testing::internal::GetCapturedStderr();
    EXPECT_EQ(curves.at("loss").updates.front(), 10);
    EXPECT_EQ(curves.at("loss").updates.size(), text.ends_with(line(20)) ? 2u : 1u) << text;
    EXPECT_TRUE(warning.starts_with("warning: " + path_ + ":2: ")) << warning;
    EXPECT_NE(warning.find("skipped"), std::string::npos) << warning;
    EXPECT_EQ(std::count(warning.begin(), warning.end(), '\n'), 1) << warning;
  }
}

TEST_F(TrainingLog, EntriesHaveSamplesAndWhatIsNotFinite) {
  const LogEntry entry = parse_log_line(
      R"({"update":7,"loss":null,"validation":{"bleu":3},"samples":[{"input":"a"}],"other":1})", "log:1");
  EXPECT_EQ(entry.update, 7);
  ASSERT_EQ(entry.values.size(), 2u);
  EXPECT_TRUE(std::isnan(entry.values[0].second));
  EXPECT_EQ(entry.values[1], (std::pair<std::string, double>("validation bleu", 3)));
  EXPECT_EQ(entry.samples, R"([{"input":"a"}])");
  EXPECT_TRUE(parse_log_line(R"({"update":7,"samples":"none"})", "log:1").samples.empty());
}

TEST_F(TrainingLog, RefusesWhatIsNone) {
  EXPECT_NE(error_message([&] { read(""); }).find("has no lines yet"), std::string::npos);
  EXPECT_NE(error_message([&] { read("The old dog\nsleeps\n"); }).find("train.jsonl:1: not valid JSON"),
            std::string::npos);
  EXPECT_NE(error_message([&] { read(line(10) + "{\"loss\": 3}\n"); }).find("train.jsonl:2: not a line of"),
            std::string::npos);
}

}  // namespace
}  // namespace sixfold
