// The command dashboard, and the option of train.
#include <gtest/gtest.h>

#include "model_folder/ownership.h"
#include "program/printed_address.h"
#include "program/shell.h"
#include "serve/raw_client.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;

class DashboardCommand : public testing::Test {
 protected:
  DashboardCommand() {
    fs::create_directories(run_);
    write_file_atomically(run_ + "/" + std::string(run_mark), run_mark_text);
  }
  /// The body of the answer.
  static std::string get(int port, const std::string& path) {
    const serve::RawClient client(port);
    client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const std::string answer = client.receive(20'000);
    return answer.substr(std::min(answer.find("\r\n\r\n"), answer.size()));
  }

  TemporaryFolder folder_;
  const std::string run_ = folder_ / "run", log_ = folder_ / "log";
};

TEST_F(DashboardCommand, ShowsRunsUntilItIsEnded) {
  Process server({"dashboard", run_, "--port", "0"}, log_);
  const int port = port_of(printed_address(server, log_));
  ASSERT_GT(port, 0) << read_file(log_);
  EXPECT_NE(get(port, "/").find("<title>"), std::string::npos);
  EXPECT_NE(get(port, "/runs").find(R"("name":"run")"), std::string::npos);
  EXPECT_EQ(get(port, "/runs").find("4.25"), std::string::npos);
  write_file_atomically(run_ + "/train.jsonl", "{\"update\":1,\"loss\":4.25}\n");
  EXPECT_NE(get(port, "/runs").find("4.25"), std::string::npos);
  fs::remove_all(run_);
  EXPECT_EQ(get(port, "/runs").find("4.25"), std::string::npos);
  const Outcome second = sixfold("dashboard " + folder_.path().string() + " --port " + std::to_string(port));
  expect_error(second, "is not the folder of a training run");
  server.send(SIGTERM);
  EXPECT_EQ(server.wait(), 0) << read_file(log_);
}

TEST_F(DashboardCommand, SaysWhatItCannotShow) {
  const auto dashboard = [](const std::string& arguments) { return sixfold("dashboard " + arguments); };
  expect_error(dashboard(""), "RUN");
  expect_error(dashboard(folder_ / "none"), "none: there is no file or folder of that name");
  expect_error(dashboard(run_ + " --port 65536"), "--port");
  expect_error(dashboard(run_ + " --host nowhere.invalid"), "is not an address of this machine");
  std::string many;
  for (int i = 0; i < 33; ++i) many += run_ + " ";
  expect_error(dashboard(many), "33 runs are too many to show");
}

class TrainWithDashboard : public DashboardCommand {
 protected:
  TrainWithDashboard() { fs::remove_all(run_); }
  const std::string config_ = write_small_training(folder_.path().string());
};

/// The page reads the run's files only.
TEST_F(TrainWithDashboard, ChangesNoBit) {
  EXPECT_EQ(sixfold("train " + config_ + " --output " + folder_ / "plain").status, 0);
  Process training({"train", "--dashboard=0", config_, "--output", run_}, log_);
  const int port = port_of(printed_address(training, log_));
  ASSERT_GT(port, 0) << read_file(log_);
  bool watched = false;  // the last answers may be cut off by the end
  try {
    while (!training.ended()) watched |= get(port, "/runs").find("gradient_norm") != std::string::npos;
  } catch (const std::runtime_error&) {  // the training and its server have ended
  }
  EXPECT_EQ(training.wait(), 0) << read_file(log_);
  EXPECT_TRUE(watched);
  EXPECT_EQ(contents_of_run(run_), contents_of_run(folder_ / "plain"));
}

TEST_F(TrainWithDashboard, APortThatIsTakenIsAnErrorBeforeTheTraining) {
  fs::create_directories(folder_ / "other");
  write_file_atomically(folder_ / "other" + "/" + std::string(run_mark), run_mark_text);
  Process server({"dashboard", folder_ / "other", "--port", "0"}, log_);
  const std::string port = std::to_string(port_of(printed_address(server, log_)));
  const Outcome taken = sixfold("train " + config_ + " --output " + run_ + " --dashboard " + port);
  EXPECT_EQ(taken.status, 1) << taken.text;
  EXPECT_NE(taken.text.find("can't listen to 127.0.0.1 port " + port), std::string::npos) << taken.text;
  EXPECT_FALSE(fs::exists(run_));
  expect_error(sixfold("train " + config_ + " --output " + run_ + " --dashboard=70000"),
               "--dashboard: expected a port from 0 to 65535, found '70000'");
  EXPECT_FALSE(fs::exists(run_));
}

}  // namespace
}  // namespace sixfold
