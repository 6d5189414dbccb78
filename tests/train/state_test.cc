#include "train/state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "error_message.h"

namespace sixfold {
namespace {

TEST(TrainingState, RoundTripIsExact) {
  TrainingState state;
  state.update = 12345678901;
  state.position = {3, 77};
  state.sums = {1.0 / 3, 5, 11, 0.1};
  state.best = 2.0 / 7;
  state.instruction_set = "cpu, AVX2";
  state.part_tokens = 512;
  state.plan = {{2, 90}, {7, 80}};
  state.validation_data = "abc";
  state.diagnosis.last_check = 12'345'600'000;
  state.diagnosis.rates = 1.0 / 7;
  state.diagnosis.seen = {{"overfitting", 2, false}, {"rate-too-low", 1, true}};
  TrainOptions options;
  options.train.seed = 9;
  options.start.freeze = {ModelPart::encoder, ModelPart::decoder};
  options.train.threads = 7;  // changes nothing, and is not stored
  state.options = write_options(options);
  state.changes = {{5, "model.dropout", "0.1", "0.2"}};
  const TrainingState again = parse_training_state(to_json_text(state), "here");
  EXPECT_EQ(again.update, state.update);
  EXPECT_TRUE(again.position == state.position);
  EXPECT_EQ(again.sums.loss, state.sums.loss);
  EXPECT_EQ(again.best, state.best);
  EXPECT_EQ(again.instruction_set, state.instruction_set);
  EXPECT_EQ(again.part_tokens, 512);
  EXPECT_EQ(again.plan, state.plan);
  EXPECT_EQ(again.validation_data, "abc");
  EXPECT_EQ(again.diagnosis.last_check, state.diagnosis.last_check);
  EXPECT_EQ(again.diagnosis.rates, state.diagnosis.rates);
  ASSERT_EQ(again.diagnosis.seen.size(), 2u);
  EXPECT_EQ(again.diagnosis.seen[0].times, 2);
  EXPECT_TRUE(again.diagnosis.seen[1].reported);
  TrainOptions read;
  read_options(again.options, read);
  EXPECT_EQ(read.train.seed, 9u);
  EXPECT_EQ(read.start.freeze, options.start.freeze);
  EXPECT_EQ(read.train.threads, 0);
  ASSERT_EQ(again.changes.size(), 1u);
  EXPECT_EQ(again.changes[0].what, "model.dropout");
  EXPECT_EQ(again.changes[0].to, "0.2");
}

/// JSON has no such numbers: what was written could not be read.
TEST(TrainingState, IsNotWrittenWhereItCouldNotBeRead) {
  TrainingState state;
  state.best = std::nan("");
  EXPECT_NE(error_message([&] { to_json_text(state); }).find("can't be stored"), std::string::npos);
  state.best.reset();
  state.loss_ema = std::numeric_limits<double>::infinity();
  EXPECT_NE(error_message([&] { to_json_text(state); }).find("can't be stored"), std::string::npos);
}

TEST(TrainingState, RefusesWhatIsNoState) {
  for (const char* text : {"", "{", "[]", "{}", "{\"update\": \"x\"}"})
    EXPECT_NE(error_message([&] { parse_training_state(text, "there"); }).find("there"), std::string::npos)
        << text;
  TrainingState state;
  state.update = -1;
  EXPECT_NE(error_message([&] {
              parse_training_state(to_json_text(state), "there");
            }).find("there: not the state of a training run: 'update' is -1; expected a whole number from 0"),
            std::string::npos);
  for (const char* text : {"1e300", "1.5", "18446744073709551615", "\"7\"", "null"}) {
    std::string json = to_json_text(TrainingState());
    json.replace(json.find("\"log_bytes\": 0"), 14, std::string("\"log_bytes\": ") + text);
    EXPECT_NE(error_message([&] { parse_training_state(json, "there"); }).find("'log_bytes' is "),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace sixfold
