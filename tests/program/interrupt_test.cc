#include "program/kit/interrupt.h"

#include <filesystem>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_answerer.h"
#include "program/small_captioner.h"
#include "program/small_classifier.h"
#include "program/small_embedder.h"
#include "program/small_language_model.h"
#include "program/small_mask_filler.h"
#include "program/small_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

/// The first signal ends every command that waits for its input.
TEST(Interrupt, EndsCommandsThatWaitForAPipe) {
  const TemporaryFolder folder;
  const std::string classifier = folder / "classifier", answerer = folder / "answerer",
                    captioner = folder / "captioner", embedder = folder / "embedder",
                    filler = folder / "filler", language_model = folder / "language-model",
                    translator = folder / "translator", text = folder / "text";
  write_small_classifier(classifier, 3);
  write_small_answerer(answerer, 3);
  write_small_captioner(captioner, 3);
  write_small_embedder(embedder, 3);
  write_small_mask_filler(filler, 3);
  write_small_language_model(language_model, 3);
  write_small_model(translator, 3);
  write_file_atomically(text, "a\n");
  const int models = folder.entries();
  const auto statuses = [&](const std::string& command, const std::string& option = "--input") {
    return statuses_at_an_idle_pipe(folder / "", SIXFOLD_BINARY " " + command + " --output " + (folder / "out"),
                                    option);
  };
  EXPECT_EQ(statuses("classify " + classifier), "143 143");
  EXPECT_EQ(statuses("answer " + answerer), "143 143");
  EXPECT_EQ(statuses("caption " + captioner), "143 143");
  EXPECT_EQ(statuses("embed " + embedder), "143 143");
  EXPECT_EQ(statuses("embed --format npy " + embedder), "143 143");
  EXPECT_EQ(statuses("embed --cosine --source " + text + " " + embedder, "--target"), "143 143");
  EXPECT_EQ(statuses("fill " + filler), "143 143");
  EXPECT_EQ(statuses("generate " + language_model), "143 143");
  EXPECT_EQ(statuses("score " + language_model), "143 143");
  EXPECT_EQ(statuses("score " + translator + " --source " + text, "--target"), "143 143");
  EXPECT_EQ(statuses("translate " + translator), "143 143");
  EXPECT_EQ(statuses("tokenize " + translator), "143 143");
  EXPECT_EQ(statuses("translate " + translator + " --input " + text, "--prefixes"), "143 143");
  EXPECT_EQ(folder.entries(), models) << "nothing is left behind";
}

/// A signal that comes with the first write: the folder is completed, and the status tells of the signal.
TEST(Interrupt, LetsFoldersBeCompleted) {
  const TemporaryFolder folder;
  const std::string model = folder / "model", output = folder / "new";
  write_small_model(model, 3);
  for (const std::string& command : {"quantize " + model, "average " + model + " " + model}) {
    const Outcome outcome = shell("LD_PRELOAD=" SIXFOLD_FAULTS
                                  " SIXFOLD_FAULT_PATH=/new SIXFOLD_FAULT_AT=1 "
                                  "SIXFOLD_FAULT_SIGNAL=2 " SIXFOLD_BINARY " " +
                                  command + " --output " + output);
    EXPECT_EQ(outcome.status, 130) << command << ": " << outcome.text;
    EXPECT_EQ(shell("echo a b | " SIXFOLD_BINARY " translate " + output).status, 0) << command;
    std::filesystem::remove_all(output);
  }
}

/// Also while bytes come, but no end of the line.
TEST(Interrupt, EndsCommandsWithinALine) {
  const TemporaryFolder folder;
  const std::string model = folder / "model";
  write_small_model(model, 3);
  const Outcome outcome =
      shell("mkfifo " + (folder / "in") + "; { while printf x; do sleep 0.005; done; } > " + (folder / "in") +
            " 2>/dev/null & " SIXFOLD_BINARY " tokenize " + model + " --input " + (folder / "in") +
            " --output " + (folder / "out") + " & sleep 0.3; kill -TERM $!; wait $!; echo status $?");
  EXPECT_EQ(outcome.text, "status 143\n");
}

/// What is started with nohup goes on when its terminal goes.
TEST(Interrupt, LeavesIgnoredSignalsIgnored) {
  const TemporaryFolder folder;
  const std::string model = folder / "model";
  write_small_model(model, 3);
  const Outcome outcome =
      shell("mkfifo " + (folder / "in") + "; trap '' HUP; " SIXFOLD_BINARY " tokenize " + model + " --output " +
            (folder / "out") + " < " + (folder / "in") + " & exec 3> " + (folder / "in") +
            "; sleep 0.3; kill -HUP $!; sleep 0.3; echo a b >&3; exec 3>&-; wait $!; echo status $?");
  EXPECT_EQ(outcome.text, "status 0\n");
  EXPECT_NE(read_file(folder / "out"), "");
}

}  // namespace
}  // namespace sixfold
