#include "tasks/train.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "error_message.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

TEST(Train, TakesAConfigAsText) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 40; ++i) text += i % 2 ? "a b c\n" : "b a\n";
  write_file_atomically(folder / "text", text);
  const std::string config = R"(
    model: {d_model: 16, d_ff: 32, heads: 2, encoder_layers: 1, decoder_layers: 1}
    tokenizer: {kind: characters}
    train: {updates: 3}
  )";
  const std::string files = "data.train=" + (folder / "text") + "," + (folder / "text");
  const TrainOutcome outcome = train(config, {.run = folder / "run"}, {files, "data.batch_tokens=64"});
  EXPECT_EQ(outcome.updates, 3);
  EXPECT_EQ(Translator(outcome.model, {.threads = 1}).translate(std::vector<std::string>{"a", ""}).size(), 2u);
}

TEST(Train, NamesTheLineOfTheConfig) {
  const auto message = [](std::string_view config) {
    return error_message([&] { train(config, {.run = "nowhere"}); });
  };
  EXPECT_EQ(message("model:\n  d_modle: 16\n"),
            "config:2: unknown key 'model.d_modle' (did you mean 'd_model'?)");
  EXPECT_NE(message("task: tea\n").find("config:1: "), std::string::npos) << message("task: tea\n");
  EXPECT_NE(message("train: {updates: 1}").find("data.train"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists("nowhere"));
  EXPECT_EQ(error_message([] { train("train: {updates: 1}", {.run = ""}, {"data.train=a,b"}); }),
            "the name of the run's folder is empty");
}

/// As Python's json.dumps writes it.
TEST(Train, ReadsJson) {
  const TemporaryFolder folder;
  const std::string message = error_message([&] {
    train(R"(  {"data": {"train": ["nowhere.a", "\ud83d\ude00.b"]}, "train": {"updates": 1}})",
          {.run = folder / "run"});
  });
  EXPECT_NE(message.find("nowhere.a: can't be read"), std::string::npos) << message;
}

}  // namespace
}  // namespace sixfold
