// Writes how similar two texts are, the cosine of their embeddings, with the folder of a model of embeddings.
#include <sixfold/embedder.h>

#include <iostream>

int main(int argc, char** argv) try {
  if (argc != 4) throw sixfold::Error(sixfold::Fault::input, "usage: embed MODEL TEXT TEXT");
  const sixfold::Embedder embedder(argv[1]);
  const std::vector<std::string> texts{argv[2], argv[3]};
  const std::vector<sixfold::TextEmbedding> found = embedder.embed(texts);
  for (const sixfold::TextEmbedding& one : found)
    if (one.error) throw sixfold::Error(sixfold::Fault::input, *one.error);
  std::cout << sixfold::cosine(found[0].values, found[1].values) << "\n";
} catch (const sixfold::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
