#include "cli/interrupt.h"

#include "base/file.h"
#include "cli/shell.h"
#include "cli/small_answerer.h"
#include "cli/small_captioner.h"
#include "cli/small_classifier.h"
#include "cli/small_language_model.h"
#include "cli/small_mask_filler.h"
#include "cli/small_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

/// The first signal ends every command that waits for its input.
TEST(Interrupt, EndsCommandsThatWaitForAPipe) {
  const TemporaryFolder folder;
  const std::string classifier = folder / "classifier", answerer = folder / "answerer",
                    captioner = folder / "captioner", filler = folder / "filler",
                    language_model = folder / "language-model", translator = folder / "translator",
                    text = folder / "text";
  write_small_classifier(classifier, 3);
  write_small_answerer(answerer, 3);
  write_small_captioner(captioner, 3);
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
  EXPECT_EQ(statuses("fill " + filler), "143 143");
  EXPECT_EQ(statuses("generate " + language_model), "143 143");
  EXPECT_EQ(statuses("score " + language_model), "143 143");
  EXPECT_EQ(statuses("score " + translator + " --source " + text, "--target"), "143 143");
  EXPECT_EQ(statuses("translate " + translator), "143 143");
  EXPECT_EQ(statuses("tokenize " + translator), "143 143");
  EXPECT_EQ(folder.entries(), models) << "nothing is left behind";
}

}  // namespace
}  // namespace sixfold
