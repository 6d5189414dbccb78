// The commands for answers to questions: answer, demo-questions, and evaluate with SQuAD's files.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "data/lines.h"
#include "program/demo/questions.h"
#include "program/shell.h"
#include "program/small_answerer.h"
#include "program/small_classifier.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using nlohmann::json;

/// SQuAD's JSON with one text and the given questions.
std::string squad(const std::string& questions) {
  return R"({"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": "a b c d", "qas": [)" +
         questions + "]}]}]}";
}

class AnswerCommand : public testing::Test {
 protected:
  AnswerCommand() { write_small_answerer(model_, 3); }
  std::string file(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  Outcome answer(const std::string& options) const { return sixfold("answer " + model_ + " " + options); }
  static std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    return all;
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

TEST_F(AnswerCommand, WritesALineForEachLine) {
  const std::string text = file("text", "a b c d\te\nh g f e d c b a h g f e\ta b\tg f\n"),
                    output = folder_ / "out";
  const Outcome outcome = answer("--input " + text);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  const auto lines = lines_of(outcome.text);
  ASSERT_EQ(lines.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const size_t tab = lines[i].find('\t');
    ASSERT_NE(tab, std::string::npos) << lines[i];
    EXPECT_NE(std::string(i == 0 ? "a b c d" : "h g f e d c b a h g f e").find(lines[i].substr(0, tab)),
              std::string::npos);
    EXPECT_GT(std::stod(lines[i].substr(tab + 1)), 0);
    EXPECT_LE(std::stod(lines[i].substr(tab + 1)), 1);
  }
  EXPECT_EQ(answer("< " + text).text, outcome.text);
  EXPECT_EQ(answer("--threads 1 --input " + text + " --output " + output).status, 0);
  EXPECT_EQ(read_file(output), outcome.text);
  EXPECT_EQ(answer("--input " + text + " --output " + output + ".gz").status, 0);
  EXPECT_EQ(read_lines(output + ".gz").size(), 2u);
  for (const std::string& line : lines_of(answer("--max-answer-tokens 1 --input " + text).text))
    EXPECT_EQ(line.find('\t'), 1u) << "one word";
}

TEST_F(AnswerCommand, WritesPlacesAsJson) {
  const std::string text = "a b c d";
  const auto one = json::parse(answer("--json --input " + file("text", text + "\te\n")).text);
  const auto begin = one.at("begin").get<size_t>(), end = one.at("end").get<size_t>();
  EXPECT_EQ(one.at("answer"), text.substr(begin, end - begin));
  EXPECT_GT(one.at("probability").get<double>(), 0);
  EXPECT_EQ(one.size(), 4u);
}

TEST_F(AnswerCommand, WhatIsBrokenFailsAlone) {
  const std::string text = file("text", "a b\tc\n\nno tab\n \tc\na b\t \na b\tc\n");
  const Outcome outcome = answer("--input " + text + " 2>" + (folder_ / "said"));
  EXPECT_EQ(outcome.status, 2);
  const auto lines = lines_of(outcome.text);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_FALSE(lines[0].empty());
  EXPECT_EQ(lines[5], lines[0]);
  for (size_t i = 1; i < 5; ++i) EXPECT_TRUE(lines[i].empty()) << lines[i];
  const std::string said = read_file(folder_ / "said");
  for (const char* part :
       {"line 2: the line is empty", "line 3: expected a text, a tab and a question, but there is no tab",
        "line 4: the text is empty", "line 5: the question is empty",
        "4 lines failed; the others are complete"})
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
  const auto objects = lines_of(answer("--json --input " + text + " 2>/dev/null").text);
  EXPECT_EQ(json::parse(objects.at(1)).at("error"), "the line is empty");
  EXPECT_NE(answer("--input " + file("long", "a b c d\ta b c d e f g h\n"))
                .text.find("1 question is longer than half of what the model reads at once"),
            std::string::npos);
}

TEST_F(AnswerCommand, AnswersSquadFiles) {
  const std::string path = file("dev.json", squad(R"({"id": "x", "question": "e"},
      {"id": "y", "question": "", "answers": []}, {"id": "z", "question": "f", "answers": []})"));
  const Outcome outcome = answer("--input " + path + " 2>" + (folder_ / "said"));
  EXPECT_EQ(outcome.status, 2);
  const auto predictions = json::parse(outcome.text);
  ASSERT_EQ(predictions.size(), 3u);
  const std::string lines = answer("--input " + file("lines", "a b c d\te\na b c d\tf\n")).text;
  EXPECT_EQ(predictions.at("x").get<std::string>(),
            lines_of(lines)[0].substr(0, lines_of(lines)[0].find('\t')));
  EXPECT_EQ(predictions.at("y"), "");
  EXPECT_EQ(predictions.at("z").get<std::string>(),
            lines_of(lines)[1].substr(0, lines_of(lines)[1].find('\t')));
  const std::string said = read_file(folder_ / "said");
  for (const char* part :
       {"dev.json: data[0].paragraphs[0].qas[1]: the question is empty", "1 question failed"})
    EXPECT_NE(said.find(part), std::string::npos) << part << "\n" << said;
  expect_error(answer("--json --input " + path), "--json");
  expect_error(answer("--input " + file("bad.json", "{\"data\": [{}]}")),
               "bad.json: data[0]: 'paragraphs' is missing");
  expect_error(answer("--input " + file("none.json", "[")), "none.json");
}

TEST_F(AnswerCommand, RefusesBadInput) {
  expect_error(answer("--input " + (folder_ / "none")), "none");
  expect_error(answer("--input " + file("bad", "\xFF\n")), "bad:1: byte 1 is not valid UTF-8");
  const std::string text = file("text", "a\tb\n");
  expect_error(answer("--input " + text + " --output " + text), "text");
  EXPECT_EQ(read_file(text), "a\tb\n");
  expect_error(answer("--max-answer-tokens 0 --input " + text), "--max-answer-tokens");
  write_small_model(folder_ / "translation", 1);
  write_small_classifier(folder_ / "classifier", 1);
  for (const char* name : {"translation", "classifier"})
    expect_error(sixfold("answer " + (folder_ / name) + " --input " + text), "not 'question_answering'");
  expect_error(sixfold("answer " + (folder_ / "classifier") + " --input " + text), "the task 'classification'");
}

TEST_F(AnswerCommand, OtherCommandsRefuseItsModel) {
  const std::string text = file("text", "a b\n"), out = " --output " + (folder_ / "out"),
                    pair = " --source " + text + " --target " + text;
  for (const std::string& command : std::vector<std::string>{
           "generate " + model_ + " --prompt a", "score " + model_ + " --input " + text,
           "classify " + model_ + " --input " + text, "caption " + model_ + " --input " + text})
    expect_error(sixfold(command), "is a model for the task 'question_answering'");
  for (const std::string& command :
       std::vector<std::string>{"translate " + model_ + " --input " + text, "score " + model_ + pair,
                                "shortlist " + model_ + pair + out, "export hf " + model_ + out,
                                "plot attention " + model_ + " --text a -o -"})
    EXPECT_EQ(sixfold(command).status, 2) << command;
}

TEST_F(AnswerCommand, IsDescribedQuantizedAndAveraged) {
  const Outcome info = sixfold("info " + model_);
  EXPECT_NE(
      info.text.find("answers      questions about texts, read in windows of 12 tokens, one every 4 tokens; "
                     "answers of at most 3 tokens"),
      std::string::npos)
      << info.text;
  EXPECT_EQ(json::parse(sixfold("info --json " + model_).text).at("config").at("head").at("kind"), "span");
  const std::string text = file("text", "a b c d\te\n");
  write_small_answerer(folder_ / "other", 4);
  EXPECT_EQ(sixfold("quantize " + model_ + " --output " + (folder_ / "int8")).status, 0);
  EXPECT_EQ(sixfold("average " + model_ + " " + (folder_ / "other") + " --output " + (folder_ / "mean")).status,
            0);
  for (const char* name : {"int8", "mean"})
    EXPECT_EQ(sixfold("answer " + (folder_ / name) + " --input " + text).status, 0) << name;
  EXPECT_EQ(sixfold("answer " + (folder_ / "int8") + " --input " + text).text,
            answer("--precision int8 --input " + text).text);
}

TEST_F(AnswerCommand, QuestionsAreGenerated) {
  const std::string out = folder_ / "questions";
  const Outcome outcome = sixfold("demo-questions --texts 10 --held-out 5 --output " + out);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("20 training questions, 400 of validation and 10 of test"), std::string::npos)
      << outcome.text;
  const demo::Questions expected = demo::make_questions({.train = 10, .test = 5});
  for (const auto& [name, part] : {std::pair("train", &expected.train), std::pair("valid", &expected.valid),
                                   std::pair("test", &expected.test)}) {
    std::string lines;
    for (const demo::FactQuestion& one : *part)
      lines += one.text + "\t" + one.question + "\t" + one.answer + "\n";
    EXPECT_EQ(read_file(out + "/" + name + ".tsv"), lines);
  }
  expect_error(sixfold("demo-questions --texts 0 --output " + out), "must be at least 1");
}

/// The lines of the data and of the command are compared without cutting them.
TEST_F(AnswerCommand, LinesAreEvaluated) {
  const std::string truth = file("truth", "text\tquestion\tthe Red boat\ntext\tquestion\tKaro\n"),
                    found = file("found", "red boat!\t0.9\nVuna\t0.4\n");
  const Outcome outcome =
      sixfold("evaluate --metric squad_exact_match,squad_f1 -r " + truth + " --hypothesis " + found);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(std::ranges::count(outcome.text, '\n'), 2);
  EXPECT_NE(outcome.text.find(" = 50.0\n"), std::string::npos) << outcome.text;
}

TEST_F(AnswerCommand, SquadFilesAreEvaluated) {
  const std::string truth = file("dev.json", squad(R"({"id": "x", "question": "e",
      "answers": [{"text": "a b", "answer_start": 0}, {"text": "b c", "answer_start": 2}]},
      {"id": "y", "question": "e", "answers": [{"text": "d", "answer_start": 6}]},
      {"id": "z", "question": "e", "answers": [{"text": "c d", "answer_start": 4}]})")),
                    found = file("found.json", R"({"x": "B\tc", "y": "d", "z": "c", "other": "1"})"),
                    partly = file("partly.json", R"({"x": "b c"})");
  const std::string command = "evaluate --metric squad_exact_match,squad_f1 -r " + truth + " --hypothesis ";
  const Outcome outcome = sixfold(command + found);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("squad_exact_match|nrefs:2|"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" = 66.7\n"), std::string::npos) << outcome.text;
  EXPECT_NE(outcome.text.find(" = 88.9\n"), std::string::npos) << outcome.text;  // (1 + 1 + 2/3) / 3
  const Outcome some = sixfold(command + partly);
  EXPECT_EQ(some.status, 0);
  EXPECT_NE(some.text.find("partly.json: has no answer to 2 questions; they count as wrong"),
            std::string::npos);
  EXPECT_NE(some.text.find(" = 33.3\n"), std::string::npos) << some.text;
  const Outcome compared = sixfold(command + found + " --compare " + partly);
  EXPECT_NE(compared.text.find("| " + partly + " | 33.3 ("), std::string::npos) << compared.text;
  const std::string the = file("the.json", squad(R"({"id": "x", "question": "e",
      "answers": [{"text": "a", "answer_start": 0}]})"));  // becomes nothing when it is normalized
  EXPECT_NE(
      sixfold("evaluate --metric squad_exact_match -r " + the + " --hypothesis " + file("none.json", "{}"))
          .text.find(" = 0.0\n"),
      std::string::npos);
  expect_error(sixfold(command + file("list.json", "[]")), "list.json");
  expect_error(sixfold(command + file("number.json", R"({"x": 1})")), "number.json: 'x'");
  expect_error(sixfold(command + found + " -r " + truth), "one JSON file has all answers");
  expect_error(sixfold("evaluate --metric squad_f1,bleu -r " + truth + " --hypothesis " + found),
               "--metric bleu");
  expect_error(sixfold(command + found + " -r " + file("empty.json", R"({"data": []})")), "");
  expect_error(sixfold("evaluate --metric squad_f1 -r " + (folder_ / "empty.json") + " --hypothesis " + found),
               "empty.json: has no questions");
}

/// The predictions of the command are those that evaluate reads.
TEST_F(AnswerCommand, PredictionsAreEvaluated) {
  const std::string truth = file("dev.json", squad(R"({"id": "x", "question": "e",
      "answers": [{"text": "a b c d", "answer_start": 0}]})"));
  EXPECT_EQ(answer("--input " + truth + " --output " + (folder_ / "found.json")).status, 0);
  const Outcome outcome =
      sixfold("evaluate --metric squad_f1 -r " + truth + " --hypothesis " + (folder_ / "found.json"));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.text.find(" = 0.0"), std::string::npos) << outcome.text;
}

}  // namespace
}  // namespace sixfold
