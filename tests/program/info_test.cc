#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Info : public testing::Test {
 protected:
  Info() { write_small_model(model_, 1); }
  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
};

void expect_line(const Outcome& outcome, const std::string& line) {
  EXPECT_NE(outcome.text.find(line + "\n"), std::string::npos) << outcome.text;
}

TEST_F(Info, TellsWhatAModelIs) {
  const Outcome outcome = sixfold("info " + model_);
  EXPECT_EQ(outcome.status, 0);
  expect_line(outcome,
              "layers       1 encoder and 2 decoder layers, d_model 8, d_ff 16, 2 heads of d_k 4 and d_v 4");
  const int64_t parameters = parameter_count(load_model_config(model_));
  expect_line(outcome, "parameters   " + std::to_string(parameters) + " (0.0 million), F32");
  expect_line(outcome,
              "tokenizer    11 tokens, whitespace, " + load_tokenizers(model_).source->hash() + ", joint");
  expect_line(
      outcome,
      "search       beam size 4, scores divided by ((5 + n) / 6)^0.6, at most 1 * source + 5 tokens, until "
      "best_cannot_improve");
  expect_line(outcome, "             tokenizer.vocab, 31 B");
}

TEST_F(Info, TellsItAsJson) {
  const auto info = nlohmann::json::parse(sixfold("info " + model_ + " --json").text);
  EXPECT_EQ(info["parameters"], parameter_count(load_model_config(model_)));
  EXPECT_EQ(info["config"]["d_ff"], 16);
  EXPECT_EQ(info["config"]["generation"]["beam_size"], 4);
  EXPECT_EQ(info["tokenizers"]["joint"], true);
  EXPECT_EQ(info["tokenizers"]["target"]["kind"], "whitespace");
  EXPECT_EQ(info["files"]["tokenizer.vocab"], 31);
}

TEST_F(Info, RefusesFoldersWhosePartsDontBelongTogether) {
  write_file_atomically(model_ + "/tokenizer.vocab", "<unk>\n<s>\n</s>\nh\ng\nf\ne\nd\nc\nb\na\n");
  expect_error(sixfold("info " + model_), "the source tokenizer is not the one the model was trained with");
  std::filesystem::remove(model_ + "/tokenizer.vocab");
  expect_error(sixfold("info " + model_), "has no tokenizer");
}

TEST_F(Info, RefusesWhatIsNoModel) {
  expect_error(sixfold("info " + (folder_ / "nowhere")), "there is no file or folder of that name");
  expect_error(sixfold("info"), "model is required");
  write_file_atomically(model_ + "/config.json", "{\"format_version\": 3, \"heads\": 4, \"d_modle\": 3}");
  expect_error(sixfold("info " + model_), "d_modle");
  write_small_model(model_, 1);
  write_file_atomically(model_ + "/model.safetensors", "");
  expect_error(sixfold("info " + model_), "model.safetensors is empty; copy the model folder again");
}

}  // namespace
}  // namespace sixfold
