// Trains a model on two text files, in which line n of one is the translation of line n of the other.
#include <sixfold/train.h>

#include <iostream>

int main(int argc, char** argv) try {
  if (argc != 4) throw sixfold::Error(sixfold::Fault::input, "usage: train SOURCE.txt TARGET.txt RUN");
  const char* const config = R"(
    model: {preset: tiny, dropout: 0.2}
    tokenizer: {vocab_size: 4000}
    train: {minutes: 5, ema_decay: 0.999}
    schedule: {kind: cosine, learning_rate: 2e-3, warmup: 200}  # decays over those minutes
  )";
  const std::string files = std::string("data.train=") + argv[1] + "," + argv[2];
  const sixfold::TrainOutcome outcome = sixfold::train(config, {.run = argv[3]}, {files});
  std::cout << "the model is " << outcome.model << ", after " << outcome.updates << " updates\n";
} catch (const sixfold::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
