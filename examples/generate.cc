// Continues a prompt with the folder of a language model, and shows the text as it comes.
#include <sixfold/generator.h>

#include <iostream>

int main(int argc, char** argv) try {
  if (argc != 3) throw sixfold::Error(sixfold::Fault::input, "usage: generate MODEL PROMPT");
  const sixfold::Generator generator(argv[1]);
  const std::string prompt = argv[2];
  std::cout << prompt;
  const auto show = [](const sixfold::TextPiece& piece) { std::cout << piece.text << std::flush; };
  const auto results = generator.generate(std::span(&prompt, 1), {.draw = {.temperature = 0.8f}}, show);
  if (results[0].error) throw sixfold::Error(sixfold::Fault::input, *results[0].error);
  std::cout << "\n";
} catch (const sixfold::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
