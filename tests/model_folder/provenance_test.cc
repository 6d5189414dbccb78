#include "model_folder/provenance.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "error_message.h"
#include "model_folder/ownership.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

const std::string trained = R"({"step":"train","updates":9800,"pairs":29000,"version":"0.1.0"})";

TEST(Provenance, AFolderWithoutTheFileHasNone) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_provenance(folder.path()).empty());
}

TEST(Provenance, AddsAStepAndItsVersion) {
  const TemporaryFolder folder;
  write_provenance(folder.path(), {trained}, R"({"step": "quantize", "type": "int8"})");
  EXPECT_TRUE(std::filesystem::exists(folder / "provenance.json"));
  const auto steps = read_provenance(folder.path());
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0], trained);
  EXPECT_FALSE(nlohmann::json::parse(steps[1]).at("version").get<std::string>().empty());
  EXPECT_EQ(describe_provenance(folder.path())[0], "trained for 9800 updates on 29000 pairs (sixfold 0.1.0)");
}

TEST(Provenance, IsReadFromTheFileOfVersion010) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "history.json", "[" + trained + "]");
  EXPECT_EQ(read_provenance(folder.path()), std::vector{trained});
  EXPECT_TRUE(is_model_file("history.json")) << "such a folder may still be replaced";
}

TEST(Provenance, TheNewFileHidesTheOldOne) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "history.json", "[]");
  write_provenance(folder.path(), {}, trained);
  EXPECT_EQ(read_provenance(folder.path()).size(), 1u);
}

TEST(Provenance, ADamagedFileIsNamed) {
  const TemporaryFolder folder;
  for (const char* text : {"{}", "[1]", "[{}]", "[", R"([{"step": "train", "version": 1}])"})
    for (const char* name : {"history.json", "provenance.json"}) {
      SCOPED_TRACE(text);
      write_file_atomically(folder / name, text);
      const std::string message = error_message([&] { describe_provenance(folder.path()); });
      EXPECT_NE(message.find(name), std::string::npos) << message;
      std::filesystem::remove(folder / name);
    }
}

}  // namespace
}  // namespace sixfold
