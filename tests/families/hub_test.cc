// Models of the hub that are named, and were downloaded before.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "error_message.h"
#include "model_folder/model_folder.h"
#include "tasks/import_model.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

class Hub : public testing::Test {
 protected:
  Hub() {
    for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"})
      ::unsetenv(name);
    ::setenv("HOME", folder_.path().c_str(), 1);
  }
  /// Puts a model into a cache, as huggingface_hub does: files are links.
  void download(const std::string& cache, const std::string& name) const {
    const fs::path model = fs::path(folder_ / cache) / name;
    fs::create_directories(model / "refs");
    fs::create_directories(model / "blobs");
    fs::create_directories(model / "snapshots/0a1b2c");
    write_file_atomically(model / "refs/main", "0a1b2c");
    for (const auto& entry : fs::directory_iterator(SIXFOLD_TEST_GOLDENS "/hugging_face/tied")) {
      fs::copy(entry, model / "blobs" / entry.path().filename());
      fs::create_symlink(fs::path("../../blobs") / entry.path().filename(),
                         model / "snapshots/0a1b2c" / entry.path().filename());
    }
  }
  void import(const std::string& name) const {
    import_model({.program = "hf", .path = name}, folder_ / "model");
    EXPECT_EQ(load_model_config(folder_ / "model").d_model, 32);
    fs::remove_all(folder_ / "model");
  }
  std::string refusal(const std::string& name) const {
    return error_message([&] { import(name); });
  }

  const TemporaryFolder folder_;
};

TEST_F(Hub, NamesAreLookedUpInTheLocalCache) {
  download(".cache/huggingface/hub", "models--Helsinki-NLP--opus-mt-en-de");
  import("Helsinki-NLP/opus-mt-en-de");
  download("xdg/huggingface/hub", "models--org--xdg");
  ::setenv("XDG_CACHE_HOME", (folder_ / "xdg").c_str(), 1);
  import("org/xdg");
  download("home/hub", "models--alone");
  ::setenv("HF_HOME", (folder_ / "home").c_str(), 1);
  import("alone");
  download("cache", "models--org--cached");
  ::setenv("HF_HUB_CACHE", (folder_ / "cache").c_str(), 1);
  import("org/cached");
  expect_holds(refusal("alone"), "hf download alone");
}

TEST_F(Hub, WhatIsNotThereIsAnErrorWithTheCommand) {
  expect_holds(refusal("org/none"),
               "org/none: there is neither a folder of that name nor such a model in the hub's "
               "local cache, " +
                   (folder_ / ".cache/huggingface/hub"));
  expect_holds(refusal("org/none"), "download it with: hf download org/none");
  download(".cache/huggingface/hub", "models--org--broken");
  const std::string reference = folder_ / ".cache/huggingface/hub/models--org--broken/refs/main";
  for (const char* hash : {"ffff", "", "../0a1b2c"}) {
    write_file_atomically(reference, hash);
    expect_holds(refusal("org/broken"),
                 "refs/main: names a snapshot that is not there; download the model again");
  }
  // Paths are no names of the hub.
  expect_holds(refusal(folder_ / "none"), "there is no folder of that name");
  expect_holds(refusal("../none/such"), "there is no folder of that name");
}

}  // namespace
}  // namespace sixfold
