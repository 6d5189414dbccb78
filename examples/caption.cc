// Says what image files (PNG, JPEG, PPM, PGM) show, with the folder of a model of captions, and where it looks.
#include <sixfold/captioner.h>
#include <sixfold/image.h>

#include <algorithm>
#include <iostream>

int main(int argc, char** argv) try {
  if (argc < 3) throw sixfold::Error(sixfold::Fault::input, "usage: caption MODEL FILE...");
  const sixfold::Captioner captioner(argv[1]);
  for (int i = 2; i < argc; ++i) {
    const sixfold::Image image = sixfold::read_image(argv[i]);
    const sixfold::Caption caption = captioner.caption(std::span(&image, 1))[0];
    std::cout << argv[i] << ": " << caption.error.value_or(caption.text) << "\n";
    if (caption.error) continue;
    const sixfold::ImageAttention attention = captioner.attention(image);
    const size_t patches = static_cast<size_t>(attention.rows) * static_cast<size_t>(attention.columns);
    for (size_t token = 0; token < attention.tokens.size(); ++token) {
      const auto first_head = attention.weights.begin() + static_cast<std::ptrdiff_t>(token * patches);
      const auto most = std::max_element(first_head, first_head + static_cast<std::ptrdiff_t>(patches));
      std::cout << "  " << attention.tokens[token] << ": head 1 looks most at patch " << most - first_head
                << "\n";
    }
  }
} catch (const sixfold::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
