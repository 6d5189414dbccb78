// Trains a model on two text files, in which line n of one is the translation of line n of the other.
#include <sixfold/tasks/translation/task.h>
#include <sixfold/trainer.h>

#include <iostream>

int main(int argc, char** argv) try {
  if (argc != 4) throw sixfold::Error(sixfold::Fault::input, "usage: train SOURCE.txt TARGET.txt RUN");
  sixfold::TranslationOptions options;
  options.data.train = {argv[1], argv[2]};
  options.tokenizer.vocab_size = 4000;

  options.model = sixfold::ModelOptions(sixfold::Preset::tiny);
  options.model.dropout = 0.2f;

  options.train.minutes = 5;
  options.train.ema_decay = 0.999f;
  options.schedule.kind = sixfold::ScheduleKind::cosine;  // decays over those minutes
  options.schedule.learning_rate = 2e-3;
  options.schedule.warmup = 200;

  const auto outcome = sixfold::train(sixfold::TranslationConfig(options), {.run = argv[3]});
  std::cout << "the model is " << outcome.model << ", after " << outcome.updates << " updates\n";
} catch (const sixfold::Error& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
