// The command serve: settings, signals, ports.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "program/printed_address.h"
#include "program/shell.h"
#include "program/small_embedder.h"
#include "program/small_model.h"
#include "serve/raw_client.h"
#include "tasks/translation/translator.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ServeCommand : public testing::Test {
 protected:
  ServeCommand() { write_small_model(model_, 11); }

  /// Starts a server on a free port and waits until it is ready.
  void start(std::vector<std::string> arguments, const std::vector<std::string>& environment = {}) {
    arguments.insert(arguments.begin(), "serve");
    server_ = std::make_unique<Process>(arguments, log_, environment);
    port_ = port_of(printed_address(*server_, log_));
    ASSERT_GT(port_, 0) << log();
  }
  std::string log() const { return read_file(log_); }
  /// Waits until the log has `part`.
  void wait_for_log(const std::string& part) const {
    for (int i = 0; i < 4000 && log().find(part) == std::string::npos; ++i)
      std::this_thread::sleep_for(milliseconds(5));
  }
  std::string translation() const {
    const serve::RawClient client(port_);
    const std::string body = R"({"q": "a b c", "source": "en", "target": "de"})";
    client.send(
        "POST /translate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        "Content-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
    const std::string answer = client.receive(20'000);
    return answer.substr(std::min(answer.find("\r\n\r\n"), answer.size()));
  }
  std::string expected() const {
    return "\r\n\r\n{\"translatedText\":\"" + Translator(model_, {.threads = 1}).translate("a b c") + "\"}";
  }

  TemporaryFolder folder_;
  const std::string model_ = folder_ / "model", log_ = folder_ / "log";
  std::unique_ptr<Process> server_;
  int port_ = 0;
};

TEST_F(ServeCommand, ServesUntilItIsEnded) {
  start({"en-de=" + model_, "--port", "0"});
  EXPECT_EQ(translation(), expected());
  server_->send(SIGTERM);
  ASSERT_TRUE(server_->ended(seconds(20)));
  EXPECT_EQ(server_->wait(), 0) << log();
}

/// A page of another origin, or one that gives its own name the address of this machine, may use no server
/// without keys.
TEST_F(ServeCommand, ForeignPagesMayNotUseIt) {
  const auto status = [&](const std::string& headers) {
    const serve::RawClient client(port_);
    client.send("GET /v2/glossaries HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n");
    return client.receive(20'000).substr(9, 3);
  };
  start({"en-de=" + model_, "--port", "0"});
  EXPECT_EQ(status("Host: localhost\r\n"), "200");
  EXPECT_EQ(status("Host: example.org\r\n"), "421");
  EXPECT_EQ(status("Host: localhost\r\nOrigin: https://example.org\r\n"), "403");
  start({"en-de=" + model_, "--port", "0", "--set", "hosts=example.org", "origins=https://example.com"});
  EXPECT_EQ(status("Host: example.org\r\nOrigin: https://example.com\r\n"), "200");
  EXPECT_EQ(status("Host: example.org\r\nOrigin: http://localhost\r\n"), "403");
}

/// As the Dockerfile asks. It is JSON, which the shell gets as it is.
TEST_F(ServeCommand, TheImageFindsOutWhetherItIsReady) {
  const std::string file = read_file(SIXFOLD_SOURCE_DIR "/packaging/Dockerfile");
  const size_t begin = file.find("CMD [", file.find("HEALTHCHECK")) + 4;
  const auto words = nlohmann::json::parse(file.substr(begin, file.find('\n', begin) - begin));
  ASSERT_EQ(words[0], "bash");
  const std::string script = folder_ / "script";
  write_file_atomically(script, words[2].get<std::string>());
  start({"en-de=" + model_, "--port", "0"});
  const std::string ask = "SIXFOLD_PORT=" + std::to_string(port_) + " bash " + script;
  EXPECT_EQ(shell(ask).status, 0);
  server_->send(SIGTERM);
  server_->wait();
  EXPECT_NE(shell(ask).status, 0);
}

/// The Python packages of DeepL and LibreTranslate, and that of OpenAI if it is there. bench/peers/README.md
/// says how to install them.
TEST_F(ServeCommand, TheRealClientsWorkUnchanged) {
  const std::string peers = peers_script();
  if (shell(". '" + peers + "' && python -c 'import deepl, libretranslatepy'").status != 0)
    GTEST_SKIP() << "the Python packages deepl and libretranslatepy are not installed";
  const bool openai = shell(". '" + peers + "' && python -c 'import openai'").status == 0;
  write_small_embedder(folder_ / "embedder", 3);
  const Outcome outcome =
      shell(". '" + peers + "' && python " SIXFOLD_SOURCE_DIR "/bench/peers/serve_clients.py en-de=" + model_ +
            " 'a b' 'c d' --sixfold " SIXFOLD_BINARY + (openai ? " --embedder " + folder_ / "embedder" : ""));
  EXPECT_EQ(outcome.status, 0) << outcome.text;
  EXPECT_NE(outcome.text.find(openai ? "refused: tokens: ok" : "translate messages: ok"), std::string::npos)
      << outcome.text;
}

/// Before there is a server, there is nothing that must be finished. The settings come from a pipe, so that
/// the command waits.
TEST_F(ServeCommand, SignalsEndItBeforeItServes) {
  const std::string settings = folder_ / "settings";
  ASSERT_EQ(::mkfifo(settings.c_str(), 0600), 0);
  for (const int signal : {SIGTERM, SIGINT}) {
    server_ = std::make_unique<Process>(std::vector<std::string>{"serve", "--config", settings}, log_);
    std::this_thread::sleep_for(milliseconds(300));
    server_->send(SIGHUP);
    EXPECT_FALSE(server_->ended(milliseconds(300))) << log();
    server_->send(signal);
    ASSERT_TRUE(server_->ended(seconds(20)));
    EXPECT_EQ(server_->wait(), 128 + signal) << log();
  }
}

/// The API keys come from a pipe, so that the command waits. Nobody else takes the port in the meantime: it is
/// of an address of this machine that no other test uses.
TEST_F(ServeCommand, IsAliveBeforeItIsReady) {
  const std::string keys = folder_ / "keys", host = "127.0.71.71";
  ASSERT_EQ(::mkfifo(keys.c_str(), 0600), 0);
  const auto status = [&](const std::string& path) {
    try {
      const serve::RawClient client(7171, host);
      client.send("GET " + path + " HTTP/1.0\r\n\r\n");
      return client.receive(20'000).substr(9, 3);
    } catch (const std::runtime_error&) {  // it does not listen yet
      return std::string();
    }
  };
  server_ = std::make_unique<Process>(std::vector<std::string>{"serve", "en-de=" + model_, "--host", host,
                                                               "--port", "7171", "--set", "api_keys=" + keys},
                                      log_);
  for (int i = 0; i < 4000 && status("/health").empty(); ++i) std::this_thread::sleep_for(milliseconds(5));
  EXPECT_EQ(status("/health"), "200") << log();
  EXPECT_EQ(status("/ready"), "503");
  EXPECT_EQ(status("/v2/usage"), "503");
  std::ofstream(keys) << "secret\n";
  wait_for_log("http://");
  EXPECT_EQ(status("/ready"), "200");
  EXPECT_EQ(status("/v2/usage"), "403") << "it needs a key";
}

TEST_F(ServeCommand, LoadsModelsAgainOnSighup) {
  start({"en-de=" + model_, "--port", "0"});
  const std::string before = expected();
  std::filesystem::remove_all(model_);
  write_small_model(model_, 13);
  server_->send(SIGHUP);
  wait_for_log("reloaded: settings, API keys and 1 model");
  EXPECT_EQ(translation(), expected());
  EXPECT_NE(expected(), before);
  std::filesystem::remove_all(model_);
  server_->send(SIGHUP);
  wait_for_log("nothing was reloaded");
  EXPECT_NE(translation().find("translatedText"), std::string::npos) << log();
}

TEST_F(ServeCommand, LoadsSettingsAndKeysAgainOnSighup) {
  const std::string settings = folder_ / "serve.yaml", keys = folder_ / "keys";
  const auto write = [&](const std::string& more) {
    write_file_atomically(settings, "models: [en-de=" + model_ + "]\nport: 0\n" + more);
  };
  const auto reload = [&](const std::string& part) {
    std::ofstream(log_).close();  // what was logged before
    server_->send(SIGHUP);
    wait_for_log(part);
  };
  const std::string requests = folder_ / "requests";
  write("access_log: " + requests + "\n");
  start({"--config", settings});
  EXPECT_EQ(translation(), expected());
  EXPECT_NE(read_file(requests).find("\"POST /translate HTTP/1.1\" 200 "), std::string::npos);
  std::filesystem::rename(requests, requests + ".1");
  write("access_log: " + requests + "\n");
  reload("reloaded: settings");
  EXPECT_EQ(translation(), expected());
  EXPECT_NE(read_file(requests).find("POST /translate"), std::string::npos)
      << "a log that was moved away begins anew";
  write_file_atomically(keys, "secret\n");
  write("api_keys: " + keys + "\npage: false\n");
  reload("reloaded: settings");
  EXPECT_NE(log().find("page: the new value counts when the server is started again"), std::string::npos)
      << log();
  EXPECT_NE(translation().find("This server needs an API key."), std::string::npos);
  write_file_atomically(keys, "");
  reload("nothing was reloaded");
  EXPECT_NE(log().find("has no keys"), std::string::npos) << log();
  EXPECT_NE(translation().find("This server needs an API key."), std::string::npos) << "the old keys stay";
  write("text_bytes: 2\nmodels: [en-fr=" + model_ + "]\n");
  reload("nothing was reloaded");  // one key twice
  write("text_bytes: 2\n");
  reload("reloaded: settings");
  EXPECT_NE(translation().find("5 bytes; at most 2"), std::string::npos);
  write("body_bytes: 3\n");
  reload("reloaded: settings");
  EXPECT_NE(translation().find("longer than 3 bytes"), std::string::npos);
  const std::string suggestions = folder_ / "suggestions";  // not those of the start, of which there are none
  write("suggestions: " + suggestions + "\naccess_log: " + suggestions + "\n");
  reload("reloaded: settings");
}

TEST_F(ServeCommand, TheLogIsNotTheFileOfSuggestionsOfTheStart) {
  const std::string settings = folder_ / "serve.yaml", suggestions = folder_ / "suggestions";
  const auto write = [&](const std::string& more) {
    write_file_atomically(settings, "models: [en-de=" + model_ + "]\nport: 0\n" + more);
  };
  write("suggestions: " + suggestions + "\n");
  start({"--config", settings});
  write("suggestions: " + suggestions + "2\naccess_log: " + suggestions + "\n");
  server_->send(SIGHUP);
  wait_for_log("nothing was reloaded");
  EXPECT_NE(log().find("suggestions and access_log are the same file"), std::string::npos) << log();
}

TEST_F(ServeCommand, TakesSettingsFromAFileAndTheEnvironment) {
  const std::string settings = folder_ / "serve.yaml";
  write_file_atomically(settings, "models: [en-de=" + model_ + "]\nport: 1\ntext_bytes: 2\n");
  start({"--config", settings}, {"SIXFOLD_PORT=0"});
  EXPECT_NE(translation().find("5 bytes; at most 2"), std::string::npos);
}

TEST_F(ServeCommand, RefusesWhatItCantDo) {
  const auto serve = [](const std::string& arguments) { return sixfold("serve " + arguments); };
  const std::string model = "en-de=" + model_ + " ";
  expect_error(serve(""), "no model is given");
  expect_error(serve("--port 0 " + model_), "does not say between which languages");
  expect_error(serve("en-de=" + (folder_ / "none")), "none: there is no file or folder of that name");
  expect_error(serve(model + "--port x"), "port: expected a whole number, found 'x'");
  expect_error(serve(model + "--port 65536"), "port: expected a whole number from 0 to 65535");
  expect_error(serve(model + "--host 1.2.3.4.5"), "host '1.2.3.4.5': is not an address of this machine");
  expect_error(serve(model + "--set hosts=http://a"), "hosts: 'http://a' is not the name of a host");
  expect_error(serve(model + "--set prot=1"), "unknown key 'prot' (did you mean 'port'?)");
  expect_error(serve(model + "--config " + (folder_ / "none")), "none");
  expect_error(serve(model + "--port 0 --set api_keys=" + (folder_ / "none")), "none");
  start({"en-de=" + model_, "--port", "0"});
  const Outcome taken = serve(model + "--port " + std::to_string(port_));
  EXPECT_EQ(taken.status, 1);
  EXPECT_NE(taken.text.find("Address already in use"), std::string::npos) << taken.text;
  EXPECT_EQ(sixfold("serve --options").status, 0);
  EXPECT_EQ(sixfold("serve --options > /dev/full").status, 1);
}

}  // namespace
}  // namespace sixfold
