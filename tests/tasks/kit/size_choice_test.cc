#include "tasks/kit/size_choice.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/file.h"
#include "tasks/kit/run_check.h"
#include "tasks/tasks.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using Chosen = std::vector<std::string>;

class SizeChoiceTest : public testing::Test {
 protected:
  SizeChoiceTest() {
    write_file_atomically(folder_ / "half", std::string(500'000, 'x'));
    write_file_atomically(folder_ / "large", std::string(2'000'000, 'x'));
    write_file_atomically(folder_ / "packed.gz", std::string(500'000, 'x'));
  }
  /// What a config chooses that has `text` and these training files, of a table whose rows need 1 and 10
  /// minutes of a thread, and the last of them 1 MB.
  Chosen choose(const std::string& text, const std::string& files, const std::string& run = "") const {
    const double minute = 60 * training_rate(Precision::fp32) / 1e12;
    const SizeChoice table[] = {
        {0, 0, {"model.d_model=16", "data.batch_tokens=1"}},
        {minute, 0, {"model.d_model=32", "data.batch_tokens=2"}},
        {10 * minute, 1, {"model.d_model=64", "model.activation model.dropout=0.3 model.norm=rms"}},
        {20 * minute, 1, {"optimizer.kind?=adam optimizer.beta2=0.9"}}};
    OptionNode root = parse_yaml_options(text, "c.yaml");
    set_option(root, "train.threads=1");
    set_option(root, "train.precision=fp32");
    std::string names;
    for (size_t begin = 0, end; begin < files.size(); begin = end + 1) {
      end = std::min(files.find(' ', begin), files.size());
      names += (names.empty() ? "" : ",") + (folder_ / files.substr(begin, end - begin));
    }
    set_option(root, "data.train=[" + names + "]");
    return choose_sizes(root, table, run);
  }

  const TemporaryFolder folder_;
};

TEST_F(SizeChoiceTest, GoesByTheTimeAndTheData) {
  EXPECT_EQ(choose("train: {minutes: 0.5}", "large"), (Chosen{"model.d_model=16", "data.batch_tokens=1"}));
  EXPECT_EQ(choose("train: {minutes: 9}", "large"), (Chosen{"model.d_model=32", "data.batch_tokens=2"}));
  EXPECT_EQ(choose("train: {minutes: 10}", "large"),
            (Chosen{"model.d_model=64", "model.dropout=0.3", "model.norm=rms"}));
  EXPECT_EQ(choose("train: {minutes: 10}", "half"), (Chosen{"model.d_model=32", "data.batch_tokens=2"}));
  EXPECT_EQ(choose("train: {minutes: 10}", "half half"),
            (Chosen{"model.d_model=64", "model.dropout=0.3", "model.norm=rms"}));
  EXPECT_EQ(choose("train: {minutes: 10}", "packed.gz"),
            (Chosen{"model.d_model=64", "model.dropout=0.3", "model.norm=rms"}));
  EXPECT_EQ(choose("train: {minutes: 10}", "missing"), (Chosen{"model.d_model=32", "data.batch_tokens=2"}));
}

TEST_F(SizeChoiceTest, LeavesWhatIsGiven) {
  EXPECT_EQ(choose("train: {minutes: 1}\ndata: {batch_tokens: 9}", "half"), Chosen{"model.d_model=32"});
  EXPECT_EQ(choose("train: {minutes: 10}\nmodel: {norm: rms}", "large"), Chosen{"model.d_model=64"})
      << "dropout and norm go together";
  EXPECT_EQ(choose("train: {minutes: 10}\nmodel: {activation: gelu}", "large"), Chosen{"model.d_model=64"})
      << "they are not for a given activation";
  for (const char* adam : {"{}", "{kind: adam}", "{beta1: 0.8}"})
    EXPECT_EQ(choose(fmt::format("train: {{minutes: 20}}\noptimizer: {}", adam), "large"),
              Chosen{"optimizer.beta2=0.9"});
  EXPECT_EQ(choose("train: {minutes: 20}\noptimizer: {kind: sgd}", "large"), Chosen());
  for (const char* size :
       {"model: {preset: small}", "model: {d_model: 8}", "model: {heads: 2}", "model: {d_ff: 9}",
        "model: {encoder_layers: 1}", "model: {decoder_layers: 1}", "start: {model: m}"})
    EXPECT_EQ(choose(fmt::format("train: {{minutes: 1}}\n{}", size), "half"), Chosen()) << size;
  for (const char* limits : {"{}", "{updates: 9}", "{minutes: 1, updates: 9}", "{minutes: 1, epochs: 2}",
                             "{minutes: 0}", "{minutes: x}"})
    EXPECT_EQ(choose(fmt::format("train: {}", limits), "half"), Chosen()) << limits;
}

/// Whatever the text and the processor are then.
TEST_F(SizeChoiceTest, ResumesWithWhatWasChosen) {
  std::filesystem::create_directories(folder_ / "run");
  write_file_atomically(
      folder_ / "run/config.json",
      R"({"model": {"d_model": 48, "dropout": 0.2, "norm": "layer"}, "data": {"batch_tokens": 7}})");
  const std::string run = folder_ / "run";
  EXPECT_EQ(choose("train: {minutes: 10}", "large", run),
            (Chosen{"data.batch_tokens=7", "model.d_model=48", "model.dropout=0.2", "model.norm=layer"}));
  EXPECT_EQ(choose("train: {minutes: 10}\ndata: {batch_tokens: 7}", "large", run),
            (Chosen{"model.d_model=48", "model.dropout=0.2", "model.norm=layer"}));
  for (const char* limits : {"{updates: 9}", "{minutes: 0, epochs: 2}"})
    EXPECT_EQ(choose(fmt::format("train: {}", limits), "large", run).size(), 4u) << limits;
  const char* size = "train: {minutes: 10}\nmodel: {d_model: 9}";
  EXPECT_EQ(choose(size, "large", run), Chosen()) << "a run without minutes had its sizes from its config";
  write_file_atomically(
      folder_ / "run/config.json",
      R"({"model": {"d_model": 48, "dropout": 0.2, "norm": "layer"}, "train": {"minutes": 3}})");
  EXPECT_EQ(choose(size, "large", run), (Chosen{"model.dropout=0.2", "model.norm=layer"}));
  for (const char* set : {"start: {model: m}", "model: {preset: small}"})
    EXPECT_EQ(choose(fmt::format("train: {{minutes: 3}}\n{}", set), "large", run), Chosen()) << set;
  EXPECT_EQ(choose("train: {minutes: 1}", "half", folder_ / "none"),
            (Chosen{"model.d_model=32", "data.batch_tokens=2"}));
  write_file_atomically(folder_ / "run/config.json", R"({"optimizer": {"kind": "adam", "beta2": 0.9}})");
  EXPECT_EQ(choose("train: {minutes: 10}", "large", run), Chosen{"optimizer.beta2=0.9"});
  EXPECT_EQ(choose("train: {minutes: 10}\noptimizer: {kind: sgd}", "large", run), Chosen())
      << "another kind has no such setting";
}

/// What a row has may not suit what a config gives; then it is left out.
TEST_F(SizeChoiceTest, SuitsOtherNetworks) {
  const TaskEntry& translation = builtin_tasks().front();
  for (const char* given :
       {"model.decoder_mixer=bahdanau", "model.attention_score=additive", "model.d_k=33 model.d_v=32",
        "model.encoder_mixer=gru model.decoder_mixer=gru",
        "model.encoder_mixer=convolution model.decoder_mixer=ssru", "model.positions=learned"})
    for (const char* minutes : {"1", "30", "1000"}) {
      OptionNode root = parse_yaml_options("{}", "c.yaml");
      const std::string large = folder_ / "large";
      std::istringstream assignments{
          fmt::format("data.train=[{},{}] train.minutes={} {}", large, large, minutes, given)};
      for (std::string assignment; assignments >> assignment;) set_option(root, assignment);
      const Chosen chosen = choose_sizes(root, translation.sizes(), "");
      EXPECT_FALSE(chosen.empty());
      for (const std::string& assignment : chosen) set_option(root, assignment);
      EXPECT_NO_THROW(task_config_of(root, "config")) << given << ", " << minutes << " minutes";
    }
}

/// docs/check.md has the table and what was measured with it.
TEST_F(SizeChoiceTest, TranslationChoosesTheDocumentedRow) {
  write_file_atomically(folder_ / "small", std::string(300'000, 'x'));
  const auto chosen = [&](const char* file, const char* minutes, const char* key) -> std::string {
    OptionNode root = parse_yaml_options("{train: {precision: fp32, threads: 2}}", "c.yaml");
    set_option(root, fmt::format("data.train=[{0},{0}]", folder_ / file));
    set_option(root, fmt::format("train.minutes={}", minutes));
    for (const std::string& assignment : choose_sizes(root, builtin_tasks().front().sizes(), ""))
      if (assignment.starts_with(fmt::format("{}=", key))) return assignment.substr(assignment.find('=') + 1);
    return "none";
  };
  const auto expect_row = [&](const char* file, const char* minutes, const char* layers, const char* vocabulary,
                              const char* dropout) {
    EXPECT_EQ(chosen(file, minutes, "model.encoder_layers"), layers) << file << ", " << minutes;
    EXPECT_EQ(chosen(file, minutes, "tokenizer.vocab_size"), vocabulary) << file << ", " << minutes;
    EXPECT_EQ(chosen(file, minutes, "model.dropout"), dropout) << file << ", " << minutes;
  };
  expect_row("small", "1", "1", "2000", "0.2");
  expect_row("small", "3", "1", "2000", "0.3");
  for (const char* minutes : {"10", "30", "300"}) expect_row("small", minutes, "2", "2000", "0.3");
  for (const char* minutes : {"1", "3", "6"}) expect_row("large", minutes, "1", "4000", "0");
  expect_row("large", "10", "2", "4000", "0.1");
  expect_row("large", "30", "3", "4000", "0.15");
  expect_row("large", "90", "3", "4000", "0.3");
}

TEST_F(SizeChoiceTest, AVocabularyHasRoomForTheCharacters) {
  std::string text, ascii;
  for (int i = 0; i < 3000; ++i) {
    const int c = 0x4E00 + i;
    text += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
             static_cast<char>(0x80 | (c & 63)), '\n'};
    ascii += "abcdefgh\n";
  }
  write_file_atomically(folder_ / "text.zh", text);
  write_file_atomically(folder_ / "text.en", ascii);
  const std::vector<std::string> files{folder_ / "text.en", folder_ / "text.zh"};
  EXPECT_EQ(count_distinct_characters(files, {}), 3008u);
  EXPECT_EQ(count_distinct_characters(files, {.joint = false}), 3000u);
  EXPECT_EQ(count_distinct_characters(files, {.max_sentences = 100}), 0u) << "the sample has fewer";
  EXPECT_EQ(count_distinct_characters({folder_ / "none"}, {}), 0u);
  OptionNode root = parse_yaml_options("{train: {minutes: 1, precision: fp32, threads: 2}}", "c.yaml");
  set_option(root, fmt::format("data.train=[{},{}]", files[0], files[1]));
  const Chosen chosen = choose_sizes(root, builtin_tasks().front().sizes(), "");
  EXPECT_NE(std::ranges::find(chosen, "tokenizer.vocab_size=5000"), chosen.end());
  std::vector<Finding> findings;
  check_vocabulary({.vocab_size = 2000}, files, findings);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].text.find("2000 tokens have no place for the 3008 characters"), std::string::npos);
  check_vocabulary({.vocab_size = 40}, {folder_ / "text.en"}, findings);
  check_vocabulary({.vocab_size = 2000, .character_coverage = 0.99}, files, findings);
  EXPECT_EQ(findings.size(), 1u);
}

/// Decays and rates that suit Adam are not for another optimizer.
TEST(SizeTables, LeaveAGivenOptimizerAlone) {
  int seen = 0;
  for (const TaskEntry& task : builtin_tasks()) {
    if (!task.is_trained()) continue;
    for (const SizeChoice& row : task.sizes())
      for (const std::string_view together : row.options) {
        if (together.find("optimizer.") == together.npos && together.find("schedule.") == together.npos)
          continue;
        EXPECT_TRUE(together.starts_with("optimizer.kind?=adam ")) << task.name << ": " << together;
        ++seen;
      }
  }
  EXPECT_GT(seen, 5);
}

/// Rows go from small to large, and each is a config that can be trained.
TEST(SizeTables, HaveRowsThatCanBeTrained) {
  for (const TaskEntry& task : builtin_tasks()) {
    if (!task.is_trained()) continue;
    double operations = 0;
    for (const SizeChoice& row : task.sizes()) {
      EXPECT_GE(row.operations, operations) << task.name;
      operations = row.operations;
      OptionNode root = task.default_options();
      set_option(root, "data.train=[a, b]");
      set_option(root, "train.minutes=1");
      for (const std::string_view together : row.options) {
        std::istringstream assignments{std::string(together)};
        for (std::string assignment; assignments >> assignment;)
          if (assignment.find('=') != std::string::npos && assignment.find("?=") == std::string::npos)
            set_option(root, assignment);
      }
      if (root.find("task") == nullptr && task.name != builtin_tasks().front().name)
        set_option(root, "task=" + std::string(task.name));
      EXPECT_NO_THROW(task_config_of(root, "row")) << task.name;
    }
  }
}

}  // namespace
}  // namespace sixfold
