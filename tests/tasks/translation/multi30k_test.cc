#include <gtest/gtest.h>

#include <cmath>

#include "base/file.h"
#include "data/corpus.h"
#include "metrics/bleu.h"
#include "shared.h"
#include "tasks/translation/task.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

double last_validation_loss(const std::string& log) {
  const std::string key = "\"loss\":";
  const size_t last = log.rfind("\"validation\":");
  return last == std::string::npos ? NAN : std::stod(log.substr(log.find(key, last) + key.size()));
}

// The whole path on real text, short: recipes/multi30k-en-de.yaml is the long form.
TEST(Multi30k, SlowRawTextToTranslations) {
  SIXFOLD_NEEDS_SHARED("data/multi30k/raw/train.en");
  TemporaryFolder folder;
  const std::string raw = shared_file("data/multi30k/raw");
  const TranslationOptions options = read_translation_options(
      SIXFOLD_SOURCE_DIR "/recipes/multi30k-en-de.yaml",
      {"data.train=" + raw + "/val.en," + raw + "/val.de", "data.valid=" + raw + "/val.en," + raw + "/val.de",
       "model.preset=tiny", "model.dropout=0", "model.attention_dropout=0", "model.activation_dropout=0",
       "tokenizer.vocab_size=1000", "train.epochs=0", "train.updates=40", "train.ema_decay=0",
       "schedule.learning_rate=3e-3", "schedule.warmup=10", "validation.every_updates=20",
       "validation.max_sentences=20", "validation.metrics=loss", "validation.best_by=loss"});
  const TrainOutcome outcome = train(TranslationConfig(options), {.run = folder / "run"});

  const Translator translator(outcome.model, {.threads = 2});
  const auto sources = read_lines(raw + "/val.en");
  const auto translations = translator.translate({sources.begin(), sources.begin() + 50}, {.beam_size = 1});
  ASSERT_EQ(translations.size(), 50u);
  for (const auto& line : translations) EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_LT(last_validation_loss(read_file(folder / "run" + "/train.jsonl")), 6.2);  // log(1000) is 6.9
}

// What sacreBLEU 2.6.0 prints for these hundred lines.
TEST(Multi30k, ScoresAsSacrebleuDoes) {
  SIXFOLD_NEEDS_SHARED("fixtures/marian/beam4.txt");
  const auto hypotheses = read_lines(shared_file("fixtures/marian/beam4.txt"));
  const auto references = read_lines(shared_file("fixtures/marian/ref100.de"));
  const Bleu bleu;
  MetricSums sums(bleu);
  for (size_t i = 0; i < hypotheses.size(); ++i) sums.add(hypotheses[i], {&references[i], 1});
  EXPECT_EQ(sums.details(), "69.6/42.3/27.2/17.5 (BP = 0.901 ratio = 0.906 hyp_len = 1123 ref_len = 1240)");
}

}  // namespace
}  // namespace sixfold
