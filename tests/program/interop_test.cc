#include <gtest/gtest.h>

#include <filesystem>

#include "program/shell.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

const std::string tied = SIXFOLD_TEST_GOLDENS "/hugging_face/tied";

TEST(Interop, AHuggingFaceModelInAndOutAgain) {
  const TemporaryFolder folder;
  const std::string model = folder / "model", exported = folder / "exported";
  EXPECT_EQ(sixfold("import hf " + tied + " --output " + model).status, 0);
  EXPECT_NE(sixfold("info " + model).text.find("languages    >>deu<< >>fra<<"), std::string::npos);
  const Outcome named = shell("echo '>>deu<< the old dog' | " SIXFOLD_BINARY " translate " + model);
  EXPECT_EQ(named.status, 0) << named.text;
  EXPECT_EQ(shell("echo 'the old dog' | " SIXFOLD_BINARY " translate " + model + " --target-language deu").text,
            named.text);
  expect_error(shell("echo a | " SIXFOLD_BINARY " translate " + model + " --target-language nld"),
               "unknown to the model, which has >>deu<< >>fra<<");
  EXPECT_EQ(sixfold("export hf " + model + " --output " + exported).status, 0);
  EXPECT_TRUE(std::filesystem::exists(exported + "/model.safetensors"));
  EXPECT_EQ(sixfold("import hf " + exported + " --output " + folder / "back").status, 0);
}

TEST(Interop, ErrorsSayWhatToMend) {
  const TemporaryFolder folder;
  expect_error(sixfold("import hf " + folder / "none" + " --output " + folder / "x"),
               "there is no folder of that name; models of the hub are downloaded first");
  expect_error(
      sixfold("import marian " + folder / "none.npz" + " --vocabs a.spm b.spm --output " + folder / "x"),
      "none.npz: can't open");
  expect_error(sixfold("import marian " + folder / "none.npz" + " --output " + folder / "x"),
               "0 vocabularies are given; give two");
  expect_error(sixfold("import hf " + tied), "--output is required");
  expect_error(sixfold("import hf " + tied + " --output " SIXFOLD_SOURCE_DIR "/src"), "already exists");
  expect_error(sixfold("import torch a"), "unknown command torch");
  expect_error(sixfold("export hf " + folder / "none" + " --output " + folder / "x"),
               "there is no file or folder of that name");
  EXPECT_FALSE(std::filesystem::exists(folder / "x"));
  // Any command that is given another program's model says how it is imported.
  expect_error(sixfold("info " + tied), "of Hugging Face; convert it with: sixfold import hf " + tied);
  expect_error(sixfold("translate " + tied + " --input /dev/null"),
               "convert it with: sixfold import hf " + tied);
}

}  // namespace
}  // namespace sixfold
