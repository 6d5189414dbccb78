#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class ShortlistCommand : public testing::Test {
 protected:
  ShortlistCommand() {
    write_small_model(model_, 1);
    write_file_atomically(source_, "a b\nb c\nc\n");
    write_file_atomically(target_, "e f\nf g\ng\n");
  }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model", source_ = folder_ / "a", target_ = folder_ / "b",
                    out_ = folder_ / "list";
  const std::string make_ =
      "shortlist " + model_ + " --source " + source_ + " --output " + out_ + " --common 1 --target ";
};

TEST_F(ShortlistCommand, BindsWhatIsPutOut) {
  const Outcome made = sixfold(make_ + target_);
  EXPECT_EQ(made.status, 0) << made.text;
  EXPECT_NE(made.text.find("may use"), std::string::npos) << made.text;
  const Outcome bound = shell("echo a b c | " SIXFOLD_BINARY " translate --shortlist " + out_ + " " + model_);
  EXPECT_EQ(bound.status, 0) << bound.text;
  EXPECT_EQ(bound.text.find_first_not_of("efg \n"), std::string::npos) << bound.text;
}

/// A translation's probability is the product of its tokens', under a shortlist too.
TEST_F(ShortlistCommand, TokenScoresAddUpToTheScore) {
  ASSERT_EQ(sixfold(make_ + target_).status, 0);
  for (const std::string& with : {std::string(), " --shortlist " + out_}) {
    const Outcome outcome = shell("printf 'a b c\\nb\\nc a\\n' | " SIXFOLD_BINARY
                                  " translate --format jsonl --token-scores --n-best 2 " +
                                  model_ + with);
    ASSERT_EQ(outcome.status, 0) << outcome.text;
    std::istringstream lines(outcome.text);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      const auto json = nlohmann::json::parse(line);
      for (const auto& translation : json.at("translations")) {
        double sum = 0;
        for (const auto& token : translation.at("tokens")) sum += token.at("log_probability").get<double>();
        EXPECT_NEAR(sum, translation.at("log_probability").get<double>(), 1e-4) << line;
      }
    }
    EXPECT_EQ(count, 3);
  }
}

TEST_F(ShortlistCommand, SaysWhatIsWrong) {
  expect_error(sixfold(make_ + (folder_ / "none")), "none");
  expect_error(sixfold("shortlist " + model_ + " --source " + source_ + " --target " + target_ + " --output -"),
               "standard output");
  write_file_atomically(target_, "e f\n");
  expect_error(sixfold(make_ + target_), "lines");
  expect_error(sixfold("shortlist " + model_), "--source is required");
  write_file_atomically(out_, "text");
  expect_error(sixfold("translate --shortlist " + out_ + " " + model_ + " --input " + source_), out_);
  expect_error(sixfold("translate --shortlist " + (folder_ / "none") + " " + model_ + " --input " + source_),
               "none");
}

}  // namespace
}  // namespace sixfold
