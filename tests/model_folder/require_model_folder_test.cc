#include "model_folder/require_model_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "error_message.h"
#include "model_folder/ownership.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

class WhatIs : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(folder_ / name).parent_path());
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  std::string put_model(const std::string& name) {
    put(name + "/config.json", R"({"format_version": 1, "d_model": 8})");
    put(name + "/tokenizer.vocab", "<unk>\n");
    put(name + "/model.safetensors", "weights");
    return folder_ / name;
  }
  std::string put_run(const std::string& name) {
    put(name + "/config.json", R"({"model": {}, "data": {}, "train": {"updates": 5}})");
    return folder_ / name;
  }
  /// What is said of a path, without the folder of the test.
  std::string said_of(const std::string& name) {
    std::string message = error_message([&] { require_model_folder(folder_ / name); });
    const std::string prefix = folder_.path().string() + "/";
    for (size_t at; (at = message.find(prefix)) != message.npos;) message.erase(at, prefix.size());
    return message;
  }

  const std::string what_a_model_is_ =
      "a model folder contains config.json, model.safetensors and a tokenizer, as made by 'sixfold train'";
  TemporaryFolder folder_;
};

TEST_F(WhatIs, AModelIsFine) {
  const std::string model = put_model("model");
  EXPECT_NO_THROW(require_model_folder(model));
  EXPECT_NO_THROW(require_model_folder(model + "/"));
  fs::create_directory(model + "/checkpoints");  // somebody's own
  EXPECT_NO_THROW(require_model_folder(model));
}

TEST_F(WhatIs, ARunNamesItsModelOrCheckpoint) {
  put_run("run");
  EXPECT_EQ(said_of("run"), "run is a training run that has neither a model nor a checkpoint yet");
  put_model("run/checkpoints/update-000000007");
  put_model("run/checkpoints/update-000000014");
  EXPECT_EQ(said_of("run"),
            "run is a training run that has not ended; its newest checkpoint is "
            "run/checkpoints/update-000000014");
  put_model("run/model");
  EXPECT_EQ(said_of("run"), "run is a training run; its model is run/model");
  EXPECT_EQ(said_of("run/"), "run is a training run; its model is run/model");
  EXPECT_EQ(said_of("run/checkpoints"),
            "run/checkpoints contains the checkpoints of a training run; the newest is "
            "run/checkpoints/update-000000014");
  fs::remove(folder_ / "run/config.json");
  write_file_atomically(folder_ / "run/sixfold-run", run_mark_text);
  EXPECT_EQ(said_of("run"), "run is a training run; its model is run/model");
}

/// Of another program's model the folder alone is known here (families/families.h knows more).
TEST_F(WhatIs, OtherProgramsModelsAreNoModelFolders) {
  put("hf/config.json", R"({"architectures": ["MarianMTModel"], "model_type": "marian"})");
  EXPECT_EQ(said_of("hf"), "hf is the folder of a model of Hugging Face, which must be imported first");
  put("hf/pytorch_model.bin", "weights");
  put("marian/model.npz", "weights");
  for (const std::string name : {"hf", "hf/pytorch_model.bin", "marian", "marian/model.npz"}) try {
      require_model_folder(folder_ / name);
      ADD_FAILURE() << name;
    } catch (const NotAModelFolder& error) {
      EXPECT_EQ(error.path(), folder_ / name);
    }
}

TEST_F(WhatIs, AFileIsNoFolder) {
  put_model("model");
  EXPECT_EQ(said_of("model/config.json"),
            "model/config.json is a file of a model; give the model folder, model");
  put("mine.yaml", "train: {minutes: 5}\n");
  EXPECT_EQ(said_of("mine.yaml"),
            "mine.yaml is a training config; sixfold train mine.yaml --output RUN trains the model RUN/model");
  put("text.en", "a line\n");
  EXPECT_EQ(said_of("text.en"), "text.en is a file, not a model folder; " + what_a_model_is_);
}

TEST_F(WhatIs, OtherFoldersAreNamed) {
  EXPECT_EQ(said_of("nowhere"), "nowhere: there is no file or folder of that name; give a model folder");
  EXPECT_EQ(error_message([] { require_model_folder(""); }), "the name of the model folder is empty");
  fs::create_directory(folder_ / "empty");
  EXPECT_EQ(said_of("empty"), "empty is an empty folder; " + what_a_model_is_);
  put("text/train.en", "a line\n");
  EXPECT_EQ(said_of("text"), "text is not a model folder; " + what_a_model_is_);
  put_model("parent/german");
  EXPECT_EQ(said_of("parent"), "parent is not a model folder, but contains one: parent/german");
  put_model("half");
  fs::remove(folder_ / "half/config.json");
  EXPECT_EQ(said_of("half"), "half contains weights but no config.json; copy the whole model folder");
}

TEST_F(WhatIs, EmptyFilesOfAModelAreNamed) {
  for (const std::string file : {"config.json", "model.safetensors", "tokenizer.vocab"}) {
    put_model("model");
    put("model/" + file, "");
    EXPECT_EQ(said_of("model"), "model/" + file + " is empty; copy the model folder again");
  }
}

}  // namespace
}  // namespace sixfold
