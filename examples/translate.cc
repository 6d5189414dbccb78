// Translates standard input line by line with a model folder.
#include <sixfold/translator.h>

#include <iostream>

int main(int argc, char** argv) try {
  if (argc != 2) throw sixfold::Error(sixfold::Fault::input, "usage: translate MODEL <text >translation");
  const sixfold::Translator translator(argv[1]);
  for (std::string line; std::getline(std::cin, line);) std::cout << translator.translate(line) << std::endl;
} catch (const sixfold::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
