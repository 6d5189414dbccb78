// Answers questions about a text file, one on each line of standard input, with the folder of a model that
// answers questions.
#include <sixfold/question_answerer.h>

#include <fstream>
#include <iostream>
#include <iterator>

int main(int argc, char** argv) try {
  if (argc != 3) throw sixfold::Error(sixfold::Fault::input, "usage: answer MODEL TEXT <questions");
  std::ifstream file(argv[2], std::ios::binary);
  if (!file) throw sixfold::Error(sixfold::Fault::input, std::string(argv[2]) + ": can't be opened");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const sixfold::QuestionAnswerer answerer(argv[1]);
  for (std::string line; std::getline(std::cin, line);) {
    const sixfold::TextQuestion question{text, line};
    const sixfold::TextAnswer answer = answerer.answers(std::span(&question, 1))[0];
    std::cout << answer.error.value_or(answer.text) << std::endl;
  }
} catch (const sixfold::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
