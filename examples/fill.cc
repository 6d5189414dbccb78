// Fills the masks in the lines of standard input, such as "a <mask> film", with the folder of a masked language
// model.
#include <sixfold/mask_filler.h>

#include <iostream>

int main(int argc, char** argv) try {
  if (argc != 2) throw sixfold::Error(sixfold::Fault::input, "usage: fill MODEL <text");
  const sixfold::MaskFiller filler(argv[1]);
  for (std::string line; std::getline(std::cin, line);) {
    const sixfold::FilledText result = filler.fill(std::span(&line, 1))[0];
    std::cout << result.error.value_or(result.text) << std::endl;
  }
} catch (const sixfold::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
