#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "model_folder/ownership.h"
#include "program/shell.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

constexpr const char* log_text =
    R"({"update":10,"loss":4.5,"perplexity":null,"learning_rate":0.001,"gradient_norm":1.5,"seconds":2.5,"tokens":70}
{"update":20,"loss":null,"perplexity":null,"learning_rate":0.002,"gradient_norm":1e30,"seconds":5,"tokens":70}
{"update":20,"validation":{"loss":3.9,"bleu":0},"samples":[{"input":"a <b>b</b>\nc","output":"","attention":{}}]}
{"update":25,"rollback_to":15,"reason":"the loss is not finite"}
{"update":20,"loss":4.25,"perplexity":70.1,"learning_rate":0.002,"gradient_norm":0.5,"seconds":7,"tokens":70}
{"update":30,"loss":4.125,"perplexity":61.9,"lea)";  // torn

class PlotTensorBoard : public testing::Test {
 protected:
  PlotTensorBoard() { make_run("run"); }
  void make_run(const std::string& name) {
    fs::create_directories(folder_ / name);
    write_file_atomically(folder_ / name + "/" + std::string(run_mark), run_mark_text);
    write_file_atomically(folder_ / name + "/train.jsonl", log_text);
  }
  Outcome write(const std::string& arguments) { return sixfold("plot tensorboard " + arguments); }

  TemporaryFolder folder_;
  const std::string run_ = folder_ / "run", output_ = folder_ / "events",
                    file_ = output_ + "/run/events.out.tfevents.sixfold";
};

TEST_F(PlotTensorBoard, WritesAFileForEachRunAndReplacesItsOwn) {
  make_run("deep/other");
  const std::string arguments = run_ + "/ " + folder_ / "deep/other" + " -o " + output_;
  const Outcome outcome = write(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("train.jsonl:6: "), std::string::npos) << outcome.text;
  const std::string bytes = read_file(file_);
  for (const char* part :
       {"train/loss", "train/learning_rate", "valid/bleu", "samples/1", "    a <b>b</b>\n    c\n"})
    EXPECT_NE(bytes.find(part), std::string::npos) << part;
  for (const char* part : {"seconds", "tokens", "attention"}) EXPECT_EQ(bytes.find(part), bytes.npos) << part;
  EXPECT_EQ(read_file(output_ + "/other/events.out.tfevents.sixfold").size(), bytes.size());
  write_file_atomically(output_ + "/run/events.out.tfevents.sixfold.tmp-1-1", "of a call that was killed");
  EXPECT_EQ(write(arguments).status, 0);
}

TEST_F(PlotTensorBoard, LeavesOtherFilesAlone) {
  fs::create_directories(output_ + "/run");
  write_file_atomically(file_, "not ours");
  expect_error(write(run_ + " -o " + output_), output_ + "/run: already exists and holds other files");
  EXPECT_EQ(read_file(file_), "not ours");
  fs::remove_all(output_);
  write_file_atomically(output_, "a file");
  EXPECT_NE(write(run_ + " -o " + output_).status, 0);
  EXPECT_EQ(read_file(output_), "a file");
  make_run("deep/run");
  expect_error(write(run_ + " " + folder_ / "deep/run" + " -o " + folder_ / "new"),
               "two runs have the name run");
  fs::create_directories(run_ + "/checkpoints");
  expect_error(write(run_ + " -o " + run_ + "/checkpoints"), "belongs to the training run");
  EXPECT_FALSE(fs::exists(folder_ / "new"));
}

TEST_F(PlotTensorBoard, NamesWhatIsNoRun) {
  expect_error(write(folder_ / "none" + " -o " + output_), "none: there is no folder of that name");
  expect_error(write(folder_.path().string() + " -o " + output_), "is not the folder of a training run");
  fs::remove(run_ + "/train.jsonl");
  expect_error(write(run_ + " -o " + output_), "has no train.jsonl yet");
  write_file_atomically(run_ + "/train.jsonl", "");
  expect_error(write(run_ + " -o " + output_), "has no lines yet");
  EXPECT_FALSE(fs::exists(file_));
}

/// The reader and the server of TensorBoard show what the log has. bench/peers/README.md says how to install
/// it.
TEST_F(PlotTensorBoard, TensorBoardOpensTheFiles) {
  const std::string peers = peers_script();
  if (shell(". '" + peers + "' && python -c 'import tensorboard'").status != 0)
    GTEST_SKIP() << "TensorBoard is not installed";
  const Outcome outcome =
      shell(". '" + peers + "' && python " SIXFOLD_SOURCE_DIR "/bench/peers/read_event_files.py " + run_ +
            " --sixfold " SIXFOLD_BINARY);
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("TensorBoard's server: 6 curves are equal; 1 texts"), std::string::npos)
      << outcome.text;
}

}  // namespace
}  // namespace sixfold
