// Words are aligned by the decoder layer that is measured when training ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "base/random.h"
#include "model_folder/config_file.h"
#include "model_folder/model_folder.h"
#include "tasks/translation/task.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"
#include "train/trainer.h"

namespace sixfold {
namespace {

/// A language of 64 words, which are translated one by one.
std::string word(uint32_t number, const char* consonants) {
  return {consonants[number % 8], "aeiou"[number / 8 % 4], consonants[number / 32 * 4 + 3], 'a'};
}

struct Lines {
  std::string source, target;
};

Lines lines_of(uint64_t seed, int count) {
  RandomStream random(seed, 0);
  Lines lines;
  for (int i = 0; i < count; ++i) {
    for (uint32_t w = 0, words = 4 + random.below(4); w < words; ++w) {
      const uint32_t number = random.below(64);
      lines.source += (w > 0 ? " " : "") + word(number, "bdfgklmn");
      lines.target += (w > 0 ? " " : "") + word(number, "prstvwxz");
    }
    lines.source += "\n", lines.target += "\n";
  }
  return lines;
}

class AlignmentLayer : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const Lines lines = lines_of(1, 4000);
    write_file_atomically(*folder_ / "train.a", lines.source);
    write_file_atomically(*folder_ / "train.b", lines.target);
    write_file_atomically(*folder_ / "config.yaml", R"(
model: {d_model: 32, d_ff: 64, heads: 2, encoder_layers: 1, decoder_layers: 3, dropout: 0}
tokenizer: {kind: whitespace, vocab_size: 0}
data: {batch_tokens: 1000}
train: {updates: 400, label_smoothing: 0, threads: 1, precision: fp32}
schedule: {kind: constant, learning_rate: 3e-3, warmup: 20}
)");
    const std::string train_files = *folder_ / "train.a" + "," + (*folder_ / "train.b");
    train(TranslationConfig(read_translation_options(*folder_ / "config.yaml", {"data.train=" + train_files})),
          {.run = *folder_ / "run"});
  }
  static void TearDownTestSuite() { delete folder_; }

  static std::string model() { return *folder_ / "run/model"; }
  /// The share of the words of new lines that are aligned with their own word, by a layer, or by that of the
  /// model.
  static double share_aligned(std::optional<int> layer) {
    const Translator translator(model(), {.threads = 1});
    std::vector<std::string> sources;
    std::istringstream lines(lines_of(2, 100).source);
    for (std::string line; std::getline(lines, line);) sources.push_back(line);
    int right = 0, words = 0;
    translator.translate(sources, {.details = {.alignment = true, .layer = layer}},
                         [&](const TranslatedLine& line) {
                           for (const auto& [source, target] : line.translations[0].alignment)
                             right += source == target;
                           words += static_cast<int>(std::ranges::count(line.source, ' ')) + 1;
                         });
    return static_cast<double>(right) / words;
  }

  static TemporaryFolder* folder_;
};
TemporaryFolder* AlignmentLayer::folder_ = nullptr;

TEST_F(AlignmentLayer, IsTheOneThatAlignsBest) {
  const int chosen = load_model_config(model()).generation.alignment_layer;
  ASSERT_GE(chosen, 0);
  const double share = share_aligned({});
  EXPECT_GE(share, 0.95);
  EXPECT_EQ(share_aligned(chosen), share);
  double worst = 1;
  for (int layer = 0; layer < 3; ++layer) {
    EXPECT_LE(share_aligned(layer), share + 0.02) << layer;
    worst = std::min(worst, share_aligned(layer));
  }
  EXPECT_LT(worst, 0.5);  // so that the choice matters
}

TEST_F(AlignmentLayer, IsMeasuredAnewInAModelThatIsTrainedFurther) {
  const int chosen = load_model_config(model()).generation.alignment_layer;
  const std::string start = *folder_ / "start";
  std::filesystem::copy(model(), start, std::filesystem::copy_options::recursive);
  ModelConfig other = load_model_config(start);
  other.generation.alignment_layer = (chosen + 1) % 3;
  save_config(start + "/config.json", other);
  std::vector<std::string> changes{"start.model=" + start, "train.updates=1", "schedule.learning_rate=1e-9"};
  changes.push_back("data.train=" + (*folder_ / "train.a") + "," + (*folder_ / "train.b"));
  write_file_atomically(*folder_ / "further.yaml", R"(
data: {batch_tokens: 1000}
train: {label_smoothing: 0, threads: 1, precision: fp32}
schedule: {kind: constant, warmup: 1}
)");
  train(TranslationConfig(read_translation_options(*folder_ / "further.yaml", changes)),
        {.run = *folder_ / "further"});
  EXPECT_EQ(load_model_config(*folder_ / "further/model").generation.alignment_layer, chosen);
}

TEST_F(AlignmentLayer, MayBeAnother) {
  const int chosen = load_model_config(model()).generation.alignment_layer, other = (chosen + 1) % 3;
  const Translator translator(model(), {.threads = 1});
  const std::vector<std::string> lines{"a b c"};
  const auto layer_of = [&](std::optional<int> layer) {
    int seen = -1;
    translator.translate(lines, {.details = {.attention = true, .layer = layer}},
                         [&](const TranslatedLine& line) { seen = line.translations[0].attention->layer; });
    return seen;
  };
  EXPECT_EQ(layer_of({}), chosen);
  EXPECT_EQ(layer_of(other), other);
  EXPECT_THROW(layer_of(3), Error);
}

}  // namespace
}  // namespace sixfold
