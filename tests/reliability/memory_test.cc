#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "data/pair_dataset.h"
#include "formats/idx_bytes.h"
#include "model_folder/provenance.h"
#include "reliability/training.h"
#include "temporary_folder.h"
#include "train/forecast.h"

namespace sixfold {
namespace {

class TrainingMemory : public testing::Test {
 protected:
  std::string config(const std::string& name, const std::string& text) const {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  /// The number behind "RssAnon:" of a process, in bytes.
  static int64_t anonymous(pid_t pid) {
    std::ifstream file(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("RssAnon:")) return std::atoll(line.c_str() + 8) * 1024;
    return 0;
  }
  int64_t peak_of_pairs(int lines) const {
    const std::string a = folder_ / "a", b = folder_ / "b";
    write_parallel_text(a, b, lines, 1, {.words = 500, .longest = 30});
    return peak_anonymous(fmt::format(R"(
model: {{d_model: 32, d_ff: 64, heads: 2, encoder_layers: 1, decoder_layers: 1}}
tokenizer: {{kind: whitespace, vocab_size: 0}}
data: {{train: [{}, {}], batch_tokens: 2000, repeats: drop}}
train: {{updates: 5}}
)",
                                      a, b));
  }
  int64_t peak_of_lines(int lines) const {
    std::string text;
    for (int i = 0; i < lines; ++i) text += "ab\n";
    write_file_atomically(folder_ / "lines", text);
    return peak_anonymous(fmt::format(R"(
task: language_model
model: {{d_model: 32, d_ff: 64, heads: 2, decoder_layers: 1}}
tokenizer: {{kind: characters, vocab_size: 0}}
data: {{train: [{}], unit: line, batch_tokens: 2000}}
train: {{updates: 5}}
)",
                                      folder_ / "lines"));
  }
  int64_t peak_anonymous(const std::string& text) const {
    std::filesystem::remove_all(folder_ / "run");
    Process process({"train", config("c.yaml", text), "--out", folder_ / "run"}, folder_ / "log");
    int64_t peak = 0;
    while (!process.ended(std::chrono::milliseconds(2))) peak = std::max(peak, anonymous(process.pid()));
    EXPECT_EQ(process.wait(), 0) << read_file(folder_ / "log");
    return peak;
  }

  TemporaryFolder folder_;
};

/// Eight times the text, 70 MB of it, takes at most 32 MB more memory of its own.
TEST_F(TrainingMemory, SlowDoesNotGrowWithTheText) {
  const int64_t small = peak_of_pairs(60'000), large = peak_of_pairs(480'000);
  EXPECT_GT(small, 1 << 20);
  EXPECT_LT(large - small, 32 << 20) << small << " " << large;
  EXPECT_LT(peak_of_lines(4'000'000) - peak_of_lines(500'000), 32 << 20);
  RecordProperty("small_mb", static_cast<int>(small >> 20));
  RecordProperty("large_mb", static_cast<int>(large >> 20));
}

/// What is forecast is what the run then takes, to 15 % or 64 MiB, with its checkpoints and with validation,
/// which translates.
TEST_F(TrainingMemory, SlowIsAsForecast) {
  const std::string a = folder_ / "a", b = folder_ / "b";
  write_parallel_text(a, b, 5000, 1, {.words = 4000, .longest = 40});
  write_parallel_text(folder_ / "v.a", folder_ / "v.b", 300, 2, {.words = 4000, .longest = 40});
  for (const char* precision : {"fp32", "auto"}) {
    SCOPED_TRACE(precision);
    const std::string log = folder_ / "log";
    Process process({"train",
                     config("c.yaml", fmt::format(R"(
model: {{d_model: 384, d_ff: 1536, heads: 6, encoder_layers: 4, decoder_layers: 4}}
tokenizer: {{kind: whitespace, vocab_size: 0}}
data: {{train: [{}, {}], valid: [{}, {}], batch_tokens: 8192, micro_batch_tokens: 0}}
train: {{updates: 3, ema_decay: 0.99, precision: {}}}
checkpoint: {{every_updates: 1}}
validation: {{every_updates: 2, metrics: [loss, bleu], max_sentences: 150}}
)",
                                                  a, b, folder_ / "v.a", folder_ / "v.b", precision)),
                     "--out", folder_ / precision},
                    log);
    ASSERT_EQ(process.wait(), 0) << read_file(log);
    const std::string said = read_file(log);
    const size_t place = said.find("memory: ");
    ASSERT_NE(place, std::string::npos) << said;
    const double forecast = std::stod(said.substr(place + 8)) * 1e6;
    const auto peak = static_cast<double>(process.peak_bytes());
    EXPECT_GT(peak, 500e6);
    EXPECT_LE(std::abs(forecast - peak), std::max(0.15 * peak, 64.0 * (1 << 20))) << forecast << " " << peak;
  }
}

/// Patches that overlap take many times the memory of their images.
TEST_F(TrainingMemory, SlowOfImagesIsAsForecast) {
  constexpr uint32_t count = 256, side = 96;
  std::string pixels, labels;
  for (uint32_t i = 0; i < count; ++i) {
    pixels += std::string(side * side, static_cast<char>(i));
    labels.push_back(static_cast<char>(i % 2));
  }
  write_file_atomically(folder_ / "images", idx_bytes({count, side, side}, pixels));
  write_file_atomically(folder_ / "labels", idx_bytes({count}, labels));
  for (const int part : {0, 500}) {
    SCOPED_TRACE(part);
    const std::string log = folder_ / "log", name = fmt::format("run{}", part);
    Process process({"train",
                     config("i.yaml", fmt::format(R"(
task: image_classification
image: {{patch: 32, stride: 4}}
model: {{d_model: 16, d_ff: 32, heads: 2, encoder_layers: 1}}
data: {{train: [{}, {}], batch_tokens: 9248, micro_batch_tokens: {}}}
train: {{updates: 3}}
)",
                                                  folder_ / "images", folder_ / "labels", part)),
                     "--out", folder_ / name},
                    log);
    ASSERT_EQ(process.wait(), 0) << read_file(log);
    const std::string said = read_file(log);
    const size_t place = said.find("memory: ");
    ASSERT_NE(place, std::string::npos) << said;
    const double forecast = std::stod(said.substr(place + 8)) * 1e6;
    const auto peak = static_cast<double>(process.peak_bytes());
    EXPECT_GT(peak, 150e6);
    EXPECT_LE(std::abs(forecast - peak), std::max(0.2 * peak, 64.0 * (1 << 20))) << forecast << " " << peak;
  }
}

/// A model and pairs to train it on.
class PairTask : public Task {
 public:
  PairTask(const ModelConfig& config, const TokenCorpus& corpus)
      : config_(config), data_(corpus, {}, config.target_ends(), "") {}
  const ModelConfig& model_config() const override { return config_; }
  const Dataset& training_data() const override { return data_; }

 private:
  ModelConfig config_;
  PairDataset data_;
};

TEST(FittingParts, IsFoundWhereTheWholeIsTooMuch) {
  TokenCorpus corpus;
  for (int i = 0; i < 500; ++i) {
    corpus.source.add(std::vector<int32_t>(20, 5));
    corpus.target.add(std::vector<int32_t>(19, 6));
  }
  ModelConfig config;
  static_cast<Architecture&>(config) = preset(Preset::tiny);
  config.source_vocab = config.target_vocab = 1000;
  TrainOptions options;
  options.data.batch_tokens = 4096;
  options.data.micro_batch_tokens = 0;
  const PairTask task(config, corpus);
  const MemoryForecast whole = forecast_memory(task, options, 0);
  const MemoryForecast parts = forecast_memory(task, options, 512);
  EXPECT_GT(whole.activations, 4 * parts.activations);
  EXPECT_EQ(whole.weights, parts.weights);
  const int64_t enough = whole.total() - whole.now, less = parts.total() - parts.now + (4 << 20);
  EXPECT_EQ(fitting_parts(task, options, 0, 2 * enough, false).tokens, 0);
  EXPECT_EQ(fitting_parts(task, options, 0, 0, false).tokens, 0);  // nobody knows
  EXPECT_EQ(fitting_parts(task, options, 0, less, true).tokens, 512);
  const auto message = [&](int64_t available) -> std::string {
    try {
      fitting_parts(task, options, 0, available, false);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(less).find("data.micro_batch_tokens: 512"), std::string::npos) << message(less);
  EXPECT_NE(message(1 << 20).find("smaller model"), std::string::npos) << message(1 << 20);
}

}  // namespace
}  // namespace sixfold
