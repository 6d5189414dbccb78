#include <gtest/gtest.h>

#include "base/file.h"
#include "model_folder/derived.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

class Average : public testing::Test {
 protected:
  Average() {
    write_small_model(a_, 1);
    write_small_model(b_, 2);
  }
  TemporaryFolder folder_;
  const std::string a_ = folder_ / "a", b_ = folder_ / "b", out_ = folder_ / "out";
};

TEST_F(Average, MakesAModelThatCanBeUsed) {
  const Outcome outcome = sixfold("average " + a_ + " " + b_ + " --out " + out_);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_EQ(outcome.text, out_ + ": average of 2 models\n");
  EXPECT_EQ(sixfold("info " + out_).status, 0);
  average_models({a_, b_}, folder_ / "expected");
  EXPECT_EQ(read_file(out_ + "/model.safetensors"), read_file(folder_ / "expected/model.safetensors"));
}

TEST_F(Average, RefusesModelsThatAreNotAlike) {
  write_small_model(b_ + "2", 2, /*joint=*/false);
  expect_error(sixfold("average " + a_ + " " + b_ + "2 --out " + out_), "tied_embeddings is all in the first");
  expect_error(sixfold("average " + a_ + " " + folder_ / "nowhere" + " --out " + out_),
               "there is no file or folder of that name");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(Average, ReplacesAModelButNoOtherFolder) {
  std::filesystem::create_directory(out_);
  write_file_atomically(out_ + "/letters", "precious");
  expect_error(sixfold("average " + a_ + " --out " + out_), "already exists and holds 'letters'");
  EXPECT_EQ(read_file(out_ + "/letters"), "precious");
  EXPECT_EQ(sixfold("average " + a_ + " --out " + b_).status, 0);
  EXPECT_EQ(read_file(b_ + "/model.safetensors"), read_file(a_ + "/model.safetensors"));
}

TEST_F(Average, TellsWhatIsMissing) {
  expect_error(sixfold("average " + a_), "--output is required");
  expect_error(sixfold("average " + a_ + " --out ''"), "name a file or folder");
  expect_error(sixfold("average --out " + out_), "models is required");
}

}  // namespace
}  // namespace sixfold
