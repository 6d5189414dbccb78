// Labels image files (PNG, JPEG, PPM, PGM) with the folder of a classifier of images.
#include <sixfold/classifier.h>
#include <sixfold/image.h>

#include <iostream>

int main(int argc, char** argv) try {
  if (argc < 3) throw sixfold::Error(sixfold::Fault::input, "usage: classify_images MODEL FILE...");
  const sixfold::Classifier classifier(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const sixfold::Image image = sixfold::read_image(argv[i]);
    const sixfold::Classification result = classifier.classify_images(std::span(&image, 1))[0];
    std::cout << argv[i] << ": " << result.error.value_or(result.label) << "\n";
  }
} catch (const sixfold::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
