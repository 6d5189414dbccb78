// Labels standard input line by line with the folder of a classifier.
#include <sixfold/classifier.h>

#include <iostream>

int main(int argc, char** argv) try {
  if (argc != 2) throw sixfold::Error(sixfold::Fault::input, "usage: classify MODEL <text");
  const sixfold::Classifier classifier(argv[1]);
  for (std::string line; std::getline(std::cin, line);) {
    const sixfold::Classification result = classifier.classify(std::span(&line, 1))[0];
    std::cout << result.error.value_or(result.label) << std::endl;
  }
} catch (const sixfold::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
