#include "serve/http/access_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <sstream>

#include "error_message.h"
#include "serve/http_fixture.h"
#include "temporary_folder.h"

namespace sixfold::serve {
namespace {

TEST(AccessLog, WritesTheCommonLogFormat) {
  AnsweredRequest request{.address = "127.0.0.1",
                          .method = "POST",
                          .path = "/a \"b\\\n\xC3\xA4",
                          .status = 200,
                          .body_bytes = 43,
                          .end = std::chrono::system_clock::from_time_t(1'795'658'645),
                          .seconds = 0.0123};
  EXPECT_EQ(
      access_line(request),
      "127.0.0.1 - - [26/Nov/2026:02:04:05 +0000] \"POST /a\\x20\\x22b\\x5C\\x0A\\xC3\\xA4 HTTP/1.1\" 200 43 "
      "0.012");
  request.method = "";
  EXPECT_NE(access_line(request).find("] \"-\" 200 "), std::string::npos)
      << "nothing of a request was understood";
}

TEST_F(HttpServerTest, LogsEachRequestWithoutItsTexts) {
  TemporaryFolder folder;
  const auto log = std::make_shared<AccessLog>(folder / "log");
  start({.body_bytes = 100, .log = [log](const AnsweredRequest& request) { log->add(request); }});
  ask("GET /x?text=secret HTTP/1.1\r\nHost: a\r\n\r\nGET /parts HTTP/1.0\r\n\r\n");
  ask(post(std::string(101, 'a')));
  ask("NONSENSE\r\n\r\n");
  stop();
  std::istringstream lines(read_file(folder / "log"));
  for (const char* expected : {"\"GET /x HTTP/1.1\" 200 19 ", "\"GET /parts HTTP/1.0\" 200 13 ",
                               "\"POST /x HTTP/1.1\" 413 ", "\"-\" 400 "}) {
    std::string line;
    std::getline(lines, line);
    EXPECT_TRUE(line.starts_with("127.0.0.1 - - [")) << line;
    EXPECT_NE(line.find(expected), std::string::npos) << line;
    EXPECT_EQ(line.find("secret"), std::string::npos) << line;
  }
  EXPECT_NE(error_message([&] { AccessLog(folder.path().string()); }), "");
}

/// What is somebody's stays as it is, and a pipe without a reader stops no server.
TEST(AccessLog, TakesOnlyFilesOfItsOwn) {
  TemporaryFolder folder;
  write_file_atomically(folder / "letter", "Dear Ada,\nno newline");
  EXPECT_NE(
      error_message([&] { AccessLog(folder / "letter"); }).find("has other lines than those of an access log"),
      std::string::npos);
  EXPECT_EQ(read_file(folder / "letter"), "Dear Ada,\nno newline");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_NE(error_message([&] { AccessLog(folder / "pipe"); }).find("is not a regular file"),
            std::string::npos);
  AnsweredRequest request{.address = "::1", .method = "GET", .path = "/a"};
  for (int i = 0; i < 2; ++i) AccessLog(folder / "log").add(request);
  const std::string twice = read_file(folder / "log");
  EXPECT_EQ(std::ranges::count(twice, '\n'), 2);
  write_file_atomically(folder / "log", twice.substr(0, twice.size() - 5));
  AccessLog(folder / "log").add(request);
  EXPECT_EQ(std::ranges::count(read_file(folder / "log"), '\n'), 3);
}

}  // namespace
}  // namespace sixfold::serve
