#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "error_message.h"
#include "families/families.h"
#include "model_folder/model_folder.h"
#include "tasks/import_model.h"
#include "temporary_folder.h"

namespace sixfold {

/// A folder of Hugging Face that tests change and import.
class CausalFolder : public testing::Test {
 protected:
  CausalFolder() { use("gpt2"); }
  /// Begins again with one of the models of tests/goldens/causal.
  void use(const std::string& name) {
    std::filesystem::remove_all(given_);
    std::filesystem::copy(SIXFOLD_TEST_GOLDENS "/causal/" + name, given_);
  }
  /// The same with one of tests/goldens/hugging_face_families.
  void use_family(const std::string& name) {
    std::filesystem::remove_all(given_);
    std::filesystem::copy(SIXFOLD_TEST_GOLDENS "/hugging_face_families/" + name, given_,
                          std::filesystem::copy_options::recursive);
  }
  /// Changes a JSON file, or makes it.
  void change(const std::string& file, const std::function<void(nlohmann::json&)>& edit) const {
    nlohmann::json content = nlohmann::json::object();
    if (std::filesystem::exists(given_ + "/" + file))
      content = nlohmann::json::parse(read_file(given_ + "/" + file));
    edit(content);
    write_file_atomically(given_ + "/" + file, content.dump());
  }
  /// The config of the imported model.
  ModelConfig import() const {
    std::filesystem::remove_all(model_);
    import_hugging_face(given_, model_);
    return load_model_config(model_);
  }
  /// What is logged by an import.
  std::string warnings() const {
    testing::internal::CaptureStderr();
    import();
    return testing::internal::GetCapturedStderr();
  }
  /// The import must fail, with an error that names the folder and has this part.
  void refuse(const std::string& part) const {
    std::filesystem::remove_all(model_);
    const std::string error = error_message([&] { import_hugging_face(given_, model_); });
    EXPECT_NE(error.find(part), std::string::npos) << error;
    EXPECT_EQ(error.rfind(given_, 0), 0u) << error;
    EXPECT_FALSE(std::filesystem::exists(model_));
  }
  /// Like `refuse`, with a file that is then as before.
  void refuse_with(const std::string& file, const std::function<void(nlohmann::json&)>& edit,
                   const std::string& part) const {
    const std::string before = read_file(given_ + "/" + file);
    change(file, edit);
    refuse(part);
    write_file_atomically(given_ + "/" + file, before);
  }

  TemporaryFolder folder_;
  const std::string given_ = folder_ / "hf", model_ = folder_ / "model";
};

}  // namespace sixfold
