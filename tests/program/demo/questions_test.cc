#include "program/demo/questions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "error_message.h"

namespace sixfold::demo {
namespace {

const Questions& questions() {
  static const Questions made = make_questions({.train = 400, .valid = 60, .test = 60});
  return made;
}

std::string bytes(const std::vector<FactQuestion>& part) {
  std::string all;
  for (const FactQuestion& one : part) all += one.text + "\t" + one.question + "\t" + one.answer + "\n";
  return all;
}

std::set<std::string> texts(const std::vector<FactQuestion>& part) {
  std::set<std::string> all;
  for (const FactQuestion& one : part) all.insert(one.text);
  return all;
}

TEST(DemoQuestions, AreAFunctionOfTheirSeed) {
  const QuestionOptions options{.train = 400, .valid = 60, .test = 60};
  const Questions again = make_questions(options);
  EXPECT_EQ(bytes(again.train), bytes(questions().train));
  EXPECT_EQ(bytes(again.valid), bytes(questions().valid));
  EXPECT_EQ(bytes(again.test), bytes(questions().test));
  QuestionOptions other = options;
  other.seed = 2;
  EXPECT_NE(bytes(make_questions(other).train), bytes(questions().train));
  // The texts of one part do not depend on the sizes of the others.
  other = options;
  other.train = 10;
  EXPECT_EQ(bytes(make_questions(other).test), bytes(questions().test));
}

TEST(DemoQuestions, HaveTheirAnswerOnceInTheText) {
  for (const auto* part : {&questions().train, &questions().valid, &questions().test})
    for (const FactQuestion& one : *part) {
      const size_t first = one.text.find(one.answer);
      ASSERT_NE(first, std::string::npos) << one.text << " " << one.answer;
      EXPECT_EQ(one.text.find(one.answer, first + 1), std::string::npos) << one.text << " " << one.answer;
      EXPECT_TRUE(one.question.ends_with('?'));
      EXPECT_EQ((one.text + one.question + one.answer).find_first_of("\t\n{}"), std::string::npos);
    }
  EXPECT_EQ(questions().train.size(), 400 * questions_of_text);
}

/// A text has several questions with different answers, so that no rule without the question finds them.
TEST(DemoQuestions, DependOnTheQuestion) {
  std::map<std::string, std::set<std::string>> answers, asked;
  for (const FactQuestion& one : questions().train)
    answers[one.text].insert(one.answer), asked[one.text].insert(one.question);
  // Two questions may have one person as their answer.
  EXPECT_GT(std::ranges::count_if(answers, [](const auto& one) { return one.second.size() > 1; }), 360);
  for (const auto& [text, all] : asked) EXPECT_EQ(all.size(), questions_of_text) << text;
}

TEST(DemoQuestions, NoTextOccursTwice) {
  std::set<std::string> all;
  for (const auto* part : {&questions().train, &questions().valid, &questions().test}) {
    EXPECT_EQ(texts(*part).size(), part->size() / questions_of_text);
    all.merge(texts(*part));
  }
  EXPECT_EQ(all.size(), 400u + 60 + 60);
}

TEST(DemoQuestions, RefuseCounts) {
  const auto refuse = [](const QuestionOptions& options, const std::string& message) {
    EXPECT_EQ(error_message([&] { make_questions(options); }), message);
  };
  refuse({.train = 0}, "the number of training texts is 0; it must be at least 1");
  refuse({.train = 1, .test = -1}, "the number of test texts is -1; it must be at least 0");
  refuse({.train = 200'000}, "200700 texts are too many; at most 200000 can be generated");
  EXPECT_TRUE(make_questions({.train = 1, .valid = 0, .test = 0}).test.empty());
}

}  // namespace
}  // namespace sixfold::demo
