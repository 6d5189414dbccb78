#pragma once
#include <cstdint>
#include <string>
#include <vector>

/// Texts that state facts about several people, and questions about them. For each question the text has the
/// same kind of fact about another person, so that the answer depends on the question.
namespace sixfold::demo {

/// "Karo lives in Mirdale, owns a red boat and ..." "Where does Karo live?" "Mirdale". The answer occurs
/// exactly once in the text.
struct FactQuestion {
  std::string text, question, answer;
};

struct QuestionOptions {
  int train = 30'000;  ///< texts, with `questions_of_text` questions each
  int valid = 200;
  int test = 500;
  uint64_t seed = 1;
};

constexpr size_t questions_of_text = 2;

struct Questions {
  std::vector<FactQuestion> train, valid, test;
};

/// The maximum number of texts of the three parts together.
constexpr int max_question_texts = 200'000;

/// Generates texts with questions; they depend only on the options. No text occurs
/// twice: those of `test` and `valid` are not in `train`. Throws an input error for negative counts, no
/// training texts, or more than `max_question_texts`.
Questions make_questions(const QuestionOptions& options);

}  // namespace sixfold::demo
