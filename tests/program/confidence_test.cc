// The confidence of translations on the command line: fitting, translating, scoring, evaluating and drawing it.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/random.h"
#include "model_folder/config_file.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class ConfidenceCommand : public testing::Test {
 protected:
  ConfidenceCommand() {
    write_small_model(model_, 1);
    RandomStream random(1, 0);
    std::string source, reference;
    for (int line = 0; line < 200; ++line) {
      for (uint32_t word = 0, words = 1 + random.below(6); word < words; ++word) {
        source += std::string(word > 0 ? " " : "") + "abcdefgh"[random.below(8)];
        reference += std::string(word > 0 ? " " : "") + "abcdefgh"[random.below(8)];
      }
      source += "\n", reference += "\n";
    }
    write_file_atomically(source_, source);
    write_file_atomically(reference_, reference);
  }
  std::string fit(const std::string& output) const {
    return "confidence " + model_ + " --source " + source_ + " --reference " + reference_ + " --output " +
           output;
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model", rated_ = folder_ / "rated", source_ = folder_ / "valid.a",
                    reference_ = folder_ / "valid.b";
};

TEST_F(ConfidenceCommand, FitsAModelThatHasNone) {
  expect_error(sixfold("translate " + model_ + " --confidence --format tsv --input " + source_),
               "'sixfold confidence' fits it");
  const Outcome fitted = sixfold(fit(rated_));
  ASSERT_EQ(fitted.status, 0) << fitted.text;
  EXPECT_NE(fitted.text.find("confidence: fitted to 200 lines"), std::string::npos) << fitted.text;
  EXPECT_EQ(read_file(rated_ + "/model.safetensors"), read_file(model_ + "/model.safetensors"));
  EXPECT_NE(sixfold("info " + rated_).text.find("confidence   of translations: fitted"), std::string::npos);
  EXPECT_NE(sixfold("info " + model_).text.find("confidence   none"), std::string::npos);
  ASSERT_EQ(sixfold(fit(folder_ / "again")).status, 0);
  EXPECT_EQ(read_file(folder_ / "again" + "/config.json"), read_file(rated_ + "/config.json"));
  // A translation is the same with it, and so is that of the model without.
  const std::string plain = sixfold("translate " + model_ + " --input " + source_).text;
  EXPECT_EQ(plain, sixfold("translate " + rated_ + " --input " + source_).text);
}

TEST_F(ConfidenceCommand, SaysWhatIsWrong) {
  expect_error(sixfold(fit(model_)), "is an input of the command");
  write_file_atomically(folder_ / "text", "mine");
  expect_error(sixfold(fit(folder_ / "text")), "is a file");
  write_file_atomically(reference_, "a\n");
  EXPECT_NE(sixfold(fit(rated_)).text.find("lines"), std::string::npos);
  write_file_atomically(source_, "b\n");
  const Outcome short_text = sixfold(fit(rated_));
  EXPECT_NE(short_text.status, 0);
  EXPECT_NE(short_text.text.find("error: " + source_ + ": no confidence was fitted"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(rated_));
  expect_error(sixfold("translate " + model_ + " --confidence --input " + source_), "choose --format tsv");
  expect_error(sixfold("translate " + model_ + " --confidence --markup html --input " + source_),
               "--confidence");
}

TEST_F(ConfidenceCommand, IsWrittenReadAndDrawn) {
  ASSERT_EQ(sixfold(fit(rated_)).status, 0);
  const std::string input = folder_ / "test.a", lines = folder_ / "test.jsonl", given = folder_ / "test.b";
  write_file_atomically(input, "a b c\n\nd e\nf\n");
  write_file_atomically(given, "a b\n\nd\nf g\n");
  ASSERT_EQ(
      sixfold("translate " + rated_ + " --confidence --format jsonl --input " + input + " --output " + lines)
          .status,
      0);
  const std::string tsv = sixfold("translate " + rated_ + " --confidence --format tsv --input " + input).text;
  std::istringstream json_lines(read_file(lines)), tsv_lines(tsv);
  int number = 0;
  for (std::string line, columns; std::getline(json_lines, line) && std::getline(tsv_lines, columns);
       ++number) {
    const auto best = nlohmann::json::parse(line).at("translations").at(0);
    const std::string last = columns.substr(columns.rfind('\t') + 1);
    if (number == 1) {  // the empty line
      EXPECT_TRUE(best.at("confidence").is_null());
      EXPECT_TRUE(best.at("mean_log_probability").is_null());
      EXPECT_EQ(last, "");
      continue;
    }
    EXPECT_NEAR(std::stod(last), best.at("confidence").get<double>(), 1e-4);
    EXPECT_LT(best.at("mean_log_probability").get<double>(), 0);
  }
  EXPECT_EQ(number, 4);
  const std::string agreement = "evaluate --line-confidence --reference " + given + " --hypothesis " + lines;
  const Outcome shown = sixfold(agreement);
  EXPECT_EQ(shown.status, 0);
  EXPECT_NE(shown.text.find("confidence: correlation with chrF of lines = "), std::string::npos) << shown.text;
  EXPECT_NE(shown.text.find(", 3 lines\n"), std::string::npos) << shown.text;
  EXPECT_EQ(nlohmann::json::parse(sixfold(agreement + " --format json").text).back().at("lines"), 3);
  const std::string picture = folder_ / "confidence.svg";
  const Outcome drawn = sixfold("plot confidence " + lines + " --reference " + given + " --output " + picture);
  EXPECT_EQ(drawn.status, 0) << drawn.text;
  EXPECT_NE(read_file(picture).find("Reliability"), std::string::npos);
  EXPECT_NE(read_file(picture).find("by mean log-probability"), std::string::npos);
  const Outcome scored =
      sixfold("score " + rated_ + " --confidence --format jsonl --source " + input + " --target " + given);
  EXPECT_NE(scored.text.find("\"confidence\":"), std::string::npos) << scored.text;
}

TEST_F(ConfidenceCommand, AgreementIsComputedFromWhatWasWritten) {
  const auto line = [](const std::string& text, double confidence, double log_probability) {
    nlohmann::json best{{"text", text}, {"confidence", confidence}, {"mean_log_probability", log_probability}};
    return nlohmann::json{{"translations", {best}}}.dump() + "\n";
  };
  const std::string lines = folder_ / "lines", given = folder_ / "given";
  // Their chrF is 1, 1 and 0: the correlation of (0.9, 0.7, 0.2) with it is 0.9608, that of the others -0.5.
  write_file_atomically(lines, line("the cat", 0.9, -2) + line("a dog", 0.7, -1) + line("x", 0.2, -1));
  write_file_atomically(given, "the cat\na dog\nbird\n");
  const std::string agreement =
      "evaluate --line-confidence --metric chrf --reference " + given + " --hypothesis ";
  const auto report = nlohmann::json::parse(sixfold(agreement + lines + " --format json").text).back();
  EXPECT_NEAR(report.at("correlation").get<double>(), 0.9608, 1e-4);
  EXPECT_NEAR(report.at("correlation_of_mean_log_probability").get<double>(), -0.5, 1e-9);
  EXPECT_NEAR(report.at("calibration_error").get<double>(), (0.1 + 0.3 + 0.2) / 3, 1e-9);
  write_file_atomically(given, "the cat\n");
  write_file_atomically(lines, line("the cat", 0.9, -2));
  EXPECT_NE(sixfold(agreement + lines).text.find("= not defined"), std::string::npos);
  for (const auto& [text, problem] :
       {std::pair<std::string, std::string>{"the cat\n", "lines:1"},
        {"{}\n", "translations"},
        {"{\"translations\": []}\n", "expected a list of translations"},
        {"{\"translations\": [{\"text\": \"a\"}]}\n", "has no confidence"},
        {"{\"translations\": [{\"text\": \"a\", \"confidence\": 2, \"mean_log_probability\": 0}]}\n",
         "from 0 to 1"},
        {"", "is empty"}}) {
    write_file_atomically(lines, text);
    expect_error(sixfold(agreement + lines), problem);
    expect_error(
        sixfold("plot confidence " + lines + " --reference " + given + " --output " + (folder_ / "p.svg")),
        problem);
  }
}

}  // namespace
}  // namespace sixfold
