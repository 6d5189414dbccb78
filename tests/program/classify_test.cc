#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "formats/idx_bytes.h"
#include "model_folder/model_folder.h"
#include "program/shell.h"
#include "program/small_classifier.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class ClassifyCommand : public testing::Test {
 protected:
  ClassifyCommand() { write_small_classifier(model_, 3); }
  std::string file(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  Outcome classify(const std::string& options) const { return sixfold("classify " + model_ + " " + options); }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(ClassifyCommand, WritesALineForEachLine) {
  const std::string text = file("text", "a b\nc\nd e f\n"), output = folder_ / "out.tsv";
  const Outcome outcome = classify("--input " + text);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  std::istringstream lines(outcome.text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const size_t tab = line.find('\t');
    ASSERT_NE(tab, line.npos) << line;
    const std::string label = line.substr(0, tab);
    EXPECT_TRUE(label == "bad" || label == "fair" || label == "good") << line;
    EXPECT_GE(std::stod(line.substr(tab + 1)), 1.0 / 3) << line;
  }
  EXPECT_EQ(count, 3);
  EXPECT_EQ(classify("< " + text).text, outcome.text);
  EXPECT_EQ(classify("--threads 1 --input " + text + " --output " + output).status, 0);
  EXPECT_EQ(read_file(output), outcome.text);
}

TEST_F(ClassifyCommand, WritesProbabilitiesAsJson) {
  const Outcome outcome = classify("--json --input " + file("text", "a b\n"));
  const auto json = nlohmann::json::parse(outcome.text);
  double sum = 0;
  for (const auto& [label, probability] : json.at("probabilities").items()) sum += probability.get<double>();
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_TRUE(json.at("probabilities").contains(json.at("label").get<std::string>()));
}

TEST_F(ClassifyCommand, SaysThatTheTextBeginsWithLabels) {
  const auto errors = [&](const std::string& text) {
    return classify("--input " + file("text", text) + " 2>&1 >/dev/null").text;
  };
  EXPECT_NE(errors("good \ta b\n").find("line 1 begins with the label 'good' and a tab"), std::string::npos);
  EXPECT_EQ(errors("better\ta b\ngood\n"), "");
}

TEST_F(ClassifyCommand, ServesTheOthersIfALineIsEmpty) {
  const Outcome outcome = classify("--input " + file("text", "a\n \nb\n") + " 2>/dev/null");
  EXPECT_NE(outcome.status, 0);
  std::istringstream lines(outcome.text);
  std::string first, second, third;
  std::getline(lines, first), std::getline(lines, second), std::getline(lines, third);
  EXPECT_FALSE(first.empty());
  EXPECT_TRUE(second.empty());
  EXPECT_FALSE(third.empty());
  EXPECT_NE(classify("--input " + (folder_ / "text")).text.find("line 2: the text is empty"),
            std::string::npos);
}

TEST_F(ClassifyCommand, AnswersALineBeforeTheNextIsTyped) {
  const Outcome outcome =
      type_two_lines(folder_.path().string(), SIXFOLD_BINARY " classify " + model_, "a b", "c");
  EXPECT_EQ(outcome.text, "status 0\n" + classify("--input " + file("text", "a b\nc\n")).text);
}

/// What comes before an error of the input is served.
TEST_F(ClassifyCommand, ServesWhatComesBeforeAnError) {
  const std::string good = classify("--input " + file("text", "a b\nc\n")).text;
  const Outcome outcome = classify("--input " + file("bad", "a b\nc\n\xFF\nd\n"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.text.starts_with(good)) << outcome.text;
  EXPECT_NE(outcome.text.find("bad:3: byte 1 is not valid UTF-8"), std::string::npos) << outcome.text;
  EXPECT_EQ(std::ranges::count(outcome.text, '\n'), 3) << outcome.text;
}

TEST_F(ClassifyCommand, TellsOfTextsThatItCuts) {
  const Outcome outcome = classify("--input " + file("text", "a b c d e f g\na\n"));
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.text.find("1 text is longer than the model reads; what follows was ignored"),
            std::string::npos)
      << outcome.text;
}

TEST_F(ClassifyCommand, RefusesBadInput) {
  expect_error(classify("--input " + (folder_ / "none")), "none");
  expect_error(classify("--input " + file("bad", "\xFF\n")), "bad:1: byte 1 is not valid UTF-8");
  const std::string text = file("text", "a\n");
  expect_error(classify("--input " + text + " --output " + text), "text");
  EXPECT_EQ(read_file(text), "a\n");
  write_small_model(folder_ / "translation", 1);
  expect_error(sixfold("classify " + (folder_ / "translation") + " --input " + text), "not 'classification'");
  expect_error(sixfold("translate " + model_ + " --input " + text),
               "is a model for the task 'classification', not 'translation'");
  expect_error(sixfold("generate " + model_ + " --prompt a"), "not 'language_model'");
}

TEST_F(ClassifyCommand, IsEvaluated) {
  const std::string truth = file("truth", "good\tsome text\nbad\tother\ngood\tx\nbad\ty\n"),
                    found = file("found", "good\t0.9\ngood\t0.6\ngood\t0.5\nbad\t0.8\n");
  const Outcome outcome =
      sixfold("evaluate --metric accuracy,macro_f1 --reference " + truth + " --hypothesis " + found);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("accuracy|nrefs:1|version:sixfold-"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" = 75.0\n"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" = 73.3\n"), std::string::npos) << outcome.text;  // (4/5 + 2/3) / 2
  expect_error(sixfold("evaluate --metric accuracy -r " + truth + " -r " + truth + " --hypothesis " + found),
               "a text has one label");
  expect_error(sixfold("evaluate --metric accuracy --lowercase -r " + truth + " --hypothesis " + found),
               "labels are compared as they are");
  const Outcome sampled =
      sixfold("evaluate --metric accuracy --confidence -r " + truth + " --hypothesis " + found);
  EXPECT_NE(sampled.text.find("±"), std::string::npos) << sampled.text;
}

TEST_F(ClassifyCommand, IsDescribed) {
  const Outcome outcome = sixfold("info " + model_);
  EXPECT_NE(outcome.text.find("texts of at most 6 tokens as one of 3 labels: bad, fair, good (pooling mean)"),
            std::string::npos)
      << outcome.text;
  expect_error(sixfold("plot attention " + model_ + " --text a -o -"), "not 'translation'");
}

TEST_F(ClassifyCommand, IsDrawn) {
  const std::string truth = file("truth", "good\nbad\ngood\nbad\n"),
                    found = file("found", "good\ngood\ngood\nbad\n"), picture = folder_ / "confusion.svg";
  EXPECT_EQ(sixfold("plot confusion " + found + " --reference " + truth + " --output " + picture).status, 0);
  const std::string svg = read_file(picture);
  EXPECT_NE(svg.find("4 texts, accuracy 75.0%, macro F1 73.3%"), std::string::npos);
  EXPECT_NE(svg.find("bad as good: 1 (50.0%)"), std::string::npos);
  EXPECT_NE(svg.find("good as good: 2 (100.0%)"), std::string::npos);
  expect_error(sixfold("plot confusion " + file("short", "good\n") + " --reference " + truth + " -o -"),
               "line n of both must belong to the same text");
}

/// A classifier of grey images of 2 x 2 pixels.
void write_small_image_classifier(const std::string& folder) {
  ModelConfig config;
  config.d_model = 8, config.heads = 2, config.d_ff = 8;
  config.encoder_layers = 1, config.decoder_layers = 0;
  config.image = {.height = 2, .width = 2, .channels = 1, .patch = 1};
  config.source_vocab = 256, config.target_vocab = 2, config.unk = config.eos = 0, config.bos = -1;
  config.head = {OutputHead::classes, 2, Pooling::mean}, config.task = "image_classification";
  config.settings = write_options(ClassificationSettings{{"0", "1"}});
  write_model_folder(folder, Transformer(config, make_backend(), DType::f32, 5), [](const std::string&) {});
}

TEST_F(ClassifyCommand, LabelsImages) {
  const std::string images = folder_ / "images", here = folder_ / "";
  write_small_image_classifier(images);
  const std::string idx = file("three", idx_bytes({3, 2, 2}, "abcdefghijkl"));
  file("a.pgm", "P5 2 2 255\nabcd"), file("broken.pgm", "P5 2 2 255\nab"),
      file("large.pgm", "P5 3 2 255\nabcdef");
  file("c.pgm", "P5 2 2 255\nijkl");
  const Outcome all = sixfold("classify " + images + " --input " + idx);
  EXPECT_EQ(all.status, 0) << all.text;
  std::istringstream lines(all.text);
  std::string first, second, third;
  std::getline(lines, first), std::getline(lines, second), std::getline(lines, third);
  const Outcome some =
      sixfold("classify " + images + " --input " +
              file("list", "a.pgm\nbroken.pgm\nnone.pgm\nlarge.pgm\nc.pgm\n") + " 2>" + here + "said");
  EXPECT_EQ(some.status, 2);
  EXPECT_EQ(some.text, first + "\n\n\n\n" + third + "\n");
  const std::string said = read_file(here + "said");
  for (const char* part : {"list:2: ", "broken.pgm: is a damaged PGM file", "list:3: ", "none.pgm",
                           "large.pgm): the image is 2 x 3", "3 images failed; the others are complete"})
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
}

TEST_F(ClassifyCommand, OtherCommandsRefuseAModelOfImages) {
  const std::string images = folder_ / "images", text = file("text", "a\n");
  write_small_image_classifier(images);
  for (const std::string command : {"translate", "generate", "score"}) {
    const Outcome outcome = sixfold(command + " " + images + " --input " + text + " 2>&1");
    EXPECT_NE(outcome.status, 0) << command;
    EXPECT_EQ(outcome.text.find("terminate"), std::string::npos) << outcome.text;
  }
  const Outcome info = sixfold("info " + images);
  EXPECT_EQ(info.status, 0);
  EXPECT_NE(info.text.find("images of 2 x 2 with 1 channel as one of 2 labels"), std::string::npos)
      << info.text;
  EXPECT_EQ(sixfold("info --json " + images).status, 0);
  EXPECT_EQ(sixfold("quantize " + images + " --output " + images + "8").status, 0);
  EXPECT_EQ(sixfold("classify " + images + "8 --input " + file("one", idx_bytes({1, 2, 2}, "abcd"))).status, 0);
}

TEST_F(ClassifyCommand, LabelsOfIdxFilesAreReferences) {
  const std::string labels = file("labels", idx_bytes({3}, std::string("\0\1\1", 3))),
                    found = file("found", "0\n1\n0\n");
  const Outcome outcome = sixfold("evaluate --metric accuracy -r " + labels + " --hypothesis " + found);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.text.find("66.7"), std::string::npos) << outcome.text;
}

}  // namespace
}  // namespace sixfold
