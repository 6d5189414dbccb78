#include <gtest/gtest.h>

#include "base/file.h"
#include "parallel_text.h"
#include "program/shell.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Train : public testing::Test {
 protected:
  Train() {
    write_parallel_text(folder_ / "a.en", folder_ / "a.de", 20, 1);
    write_file_atomically(config_,
                          R"(model: {d_model: 8, d_ff: 16, heads: 2, encoder_layers: 1, decoder_layers: 1}
tokenizer: {kind: whitespace, vocab_size: 0}
data: {train: [)" + (folder_ / "a.en") +
                              ", " + (folder_ / "a.de") + R"(]}
train: {updates: 3, threads: 1}
)");
  }
  Outcome train(const std::string& arguments) { return sixfold("train " + arguments + " --out " + run_); }
  bool config_has(const std::string& text) const {
    return read_file(run_ + "/config.json").find(text) != std::string::npos;
  }

  TemporaryFolder folder_;
  const std::string config_ = folder_ / "mine.yaml", run_ = folder_ / "run";
};

TEST_F(Train, SetMayStandBeforeTheConfig) {
  const Outcome outcome = train("--set train.updates=1 " + config_);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(config_has("\"updates\": 1"));
}

TEST_F(Train, OneSetTakesSeveralAssignments) {
  const Outcome outcome = train("--set train.updates=1 train.seed=7 " + config_ + " --set train.updates=2");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_TRUE(config_has("\"updates\": 2"));
  EXPECT_TRUE(config_has("\"seed\": 7"));
}

TEST_F(Train, ListsAreSetAsInYaml) {
  const Outcome outcome = train(config_ + " --set train.updates=1 'data.train=[" + (folder_ / "a.en") + ", \"" +
                                (folder_ / "a.de") + "\"]'");
  EXPECT_EQ(outcome.status, 0) << outcome.text;
}

TEST_F(Train, SaysWhatItsCommandLineLacks) {
  expect_error(train("--set train.updates=1"),
               "no config is given; expected, for example: sixfold train mine.yaml --out");
  expect_error(train(config_ + " --set train.updates 1"),
               "--set train.updates: expected KEY=VALUE, as in train.minutes=5");
  expect_error(sixfold("train " + config_), "--output is required");
}

TEST_F(Train, NumbersOutOfRangeAreNamedShortly) {
  const auto message_of = [](const std::string& arguments) { return sixfold("corpus a b " + arguments); };
  expect_error(message_of("--max-length -1"), "--max-length: expected a whole number at least 0, found '-1'\n");
  expect_error(message_of("--max-length 3000000000"),
               "--max-length: expected a whole number from 0 to 2147483647, found '3000000000'\n");
  expect_error(message_of("--max-ratio 1e400"),
               "--max-ratio: expected a number that 64 bits of floating point can hold, found '1e400'\n");
  expect_error(sixfold("plot schedule " + config_ + " --updates 0 --output x.svg"),
               "--updates: expected a whole number at least 1, found '0'\n");
}

TEST_F(Train, SaysWhatIsWrongWithItsConfig) {
  const auto message_of = [&](const std::string& text) {
    const std::string path = folder_ / "other.yaml";
    write_file_atomically(path, text);
    return train(path);
  };
  expect_error(message_of(""), "other.yaml: is empty");
  expect_error(message_of("train:\n\tminutes: 5\n"),
               "other.yaml:2: the line is indented with a tab; use spaces");
  expect_error(message_of("model:\n  d_model: \"128\"\n"),
               "other.yaml:2: model.d_model: expected a whole number without quotes, found '128'");
  expect_error(train("nowhere.yaml"), "nowhere.yaml: can't open: No such file or directory");
}

TEST_F(Train, SaysWhatIsWrongWithItsText) {
  write_file_atomically(folder_ / "none", "");
  write_file_atomically(folder_ / "bad", "fine\nnot \xff fine\n");
  const auto train_on = [&](const std::string& source, const std::string& target) {
    return train(config_ + " --set data.train=" + (folder_ / source) + "," + (folder_ / target));
  };
  expect_error(train_on("none", "none"), "none: is empty; expected one sentence on each line");
  expect_error(
      train_on("bad", "bad"),
      "bad:2: byte 5 is not valid UTF-8; convert the text, or choose --invalid-utf8 replace or skip (in "
      "training data.invalid_utf8)");
  expect_error(train_on("nowhere", "a.de"), "nowhere: can't be read: No such file or directory");
}

TEST_F(Train, ARunIsNoModelButHasOne) {
  EXPECT_EQ(train(config_).status, 0);
  expect_error(sixfold("translate " + run_ + " < /dev/null"),
               run_ + " is a training run; its model is " + run_ + "/model");
  EXPECT_EQ(sixfold("translate " + run_ + "/model < /dev/null").status, 0);
  for (const std::string command :
       {"info ", "tokenize ", "plot attention --text a -o x.svg ", "quantize --output x ", "average --out x ",
        "export hf -o x ", "corpus a b --model "})
    expect_error(sixfold(command + run_), run_ + " is a training run; its model is " + run_ + "/model");
}

}  // namespace
}  // namespace sixfold
