#include "serve/config.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/file.h"
#include "error_message.h"
#include "temporary_folder.h"

namespace sixfold::serve {
namespace {

class ServeConfigTest : public testing::Test {
 protected:
  ServeConfig read(const std::string& yaml, const std::vector<std::string>& assignments = {}) const {
    std::string path;
    if (!yaml.empty()) write_file_atomically(path = folder_ / "serve.yaml", yaml);
    const auto environment = [&](const std::string& name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    };
    return read_serve_config(path, environment, assignments);
  }
  std::string error(const std::string& yaml, const std::vector<std::string>& assignments = {}) const {
    return error_message([&] { read(yaml, assignments); });
  }

  TemporaryFolder folder_;
  std::map<std::string, std::string> environment_;
};

TEST_F(ServeConfigTest, OneRequestFits) {
  EXPECT_EQ(error("body_bytes: 5000\nbodies_bytes: 4999\n"),
            "bodies_bytes, 4999, must be at least body_bytes, 5000, so that the body of one request fits");
  EXPECT_EQ(error("text_bytes: 5000\nwaiting_bytes: 4999\n"),
            "waiting_bytes, 4999, must be at least text_bytes, 5000, so that the texts of one request fit");
}

TEST_F(ServeConfigTest, FilesOfTwoKindsDiffer) {
  const std::string file = folder_ / "file", link = folder_ / "link";
  std::filesystem::create_symlink(file, link);
  const auto fault = [&](const std::string& log) {
    const ServeConfig config = read("suggestions: " + file + "\naccess_log: " + log + "\n");
    return error_message([&] { config.http(); });
  };
  EXPECT_EQ(fault(file), "suggestions and access_log are the same file, " + file + "; give each its own");
  EXPECT_NE(fault(link).find("are the same file"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(file));
  read("suggestions: " + file + "\naccess_log: '-'\n").http();
  read("suggestions: " + file + "\naccess_log: " + file + "2\n").http();
}

TEST_F(ServeConfigTest, TheLaterSettingCounts) {
  EXPECT_EQ(read("").port, 7070);
  EXPECT_EQ(read("").host, "127.0.0.1");
  EXPECT_EQ(read("port: 1\ntexts: 5\n").port, 1);
  environment_ = {{"SIXFOLD_PORT", "2"}, {"SIXFOLD_MODELS", "en-de=a,fr-en=b"}};
  const ServeConfig config = read("port: 1\ntexts: 5\n", {"alternatives=3"});
  EXPECT_EQ(config.port, 2);
  EXPECT_EQ(config.texts, 5);
  EXPECT_EQ(config.alternatives, 3);
  EXPECT_EQ(config.models, (std::vector<std::string>{"en-de=a", "fr-en=b"}));
  EXPECT_EQ(read("port: 1\n", {"port=3"}).port, 3);
}

TEST_F(ServeConfigTest, LimitsReachTheServer) {
  const ServeConfig config = read("bodies_bytes: 5\nbody_bytes: 4\nconnections: 3\n");
  EXPECT_EQ(config.http().total_body_bytes, 5u);
  EXPECT_EQ(config.http().body_bytes, 4u);
  EXPECT_EQ(config.http().connections, 3);
}

/// The settings that the unit for systemd shows are valid, and what they write is where the unit may write.
TEST_F(ServeConfigTest, TheUnitMayWriteWhereItSays) {
  std::istringstream unit(read_file(SIXFOLD_SOURCE_DIR "/packaging/sixfold.service"));
  std::string yaml, state;
  const std::string setting = "#   ", directory = "StateDirectory=";
  for (std::string line; std::getline(unit, line);) {
    if (line.starts_with(setting)) yaml += line.substr(setting.size()) + "\n";
    if (line.starts_with(directory)) state = "/var/lib/" + line.substr(directory.size()) + "/";
  }
  ASSERT_FALSE(state.empty());
  const ServeConfig config = read(yaml);
  EXPECT_EQ(config.models.size(), 1u);
  EXPECT_TRUE(config.glossaries.starts_with(state)) << config.glossaries;
  EXPECT_TRUE(config.suggestions.starts_with(state)) << config.suggestions;
}

TEST_F(ServeConfigTest, NamesThePlaceOfAnError) {
  EXPECT_NE(error("prot: 1\n").find("serve.yaml:1"), std::string::npos);
  EXPECT_NE(error("port: 70000\n").find("from 0 to 65535"), std::string::npos);
  EXPECT_NE(error("", {"texts=0"}).find("--set texts=0"), std::string::npos);
  environment_ = {{"SIXFOLD_REQUEST_SECONDS", "soon"}};
  EXPECT_NE(error("").find("SIXFOLD_REQUEST_SECONDS: request_seconds: expected a number"), std::string::npos)
      << error("");
}

}  // namespace
}  // namespace sixfold::serve
