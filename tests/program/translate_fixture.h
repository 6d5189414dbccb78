#pragma once
#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "program/shell.h"
#include "program/small_model.h"
#include "temporary_folder.h"

namespace sixfold {

/// `sixfold translate` with a model that has learnt nothing.
class Translate : public testing::Test {
 protected:
  Translate() { write_small_model(model_, 1); }

  std::string file(const std::string& name, const std::string& text) {
    write_file_atomically(folder_ / name, text);
    return folder_ / name;
  }
  /// Translates `input` through pipes.
  Outcome translate(const std::string& input, const std::string& options = "") {
    return shell("cat " + file("input", input) + " | " + program_ + " " + options + " | cat");
  }
  /// Runs the command on a line; it is to write no file.
  Outcome refused(const std::string& options) {
    return shell(program_ + " " + options + " --input " + file("line", "a\n") + " --output " +
                 (folder_ / "none"));
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model";
  const std::string program_ = SIXFOLD_BINARY " translate " + model_;
};

}  // namespace sixfold
