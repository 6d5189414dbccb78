// Under which names a server is asked, and which pages may ask it.
#include "serve/http/access.h"

#include "base/error.h"
#include "error_message.h"
#include "serve/http_fixture.h"

namespace sixfold::serve {
namespace {

/// The status with which a request is refused; 200: it is not.
int status_of(const Access& access, const std::string& host, const std::string& origin) {
  HttpRequest request{.method = "POST", .path = "/", .headers = {{"host", host}}};
  if (!origin.empty()) request.headers["origin"] = origin;
  try {
    access.require(request);
    HttpAnswer answer;
    access.add_cors_headers(request, answer);
    std::string readable;
    for (const auto& [name, value] : answer.headers)
      if (name == "Access-Control-Allow-Origin") readable = value;
    EXPECT_TRUE(origin.empty() || readable == "*" || readable == origin) << readable;
    return 200;
  } catch (const HttpError& error) {
    HttpAnswer answer;
    access.add_cors_headers(request, answer);
    EXPECT_LE(answer.headers.size(), 1u) << "a page that is refused can't read why";
    return error.status();
  }
}

TEST(Access, AServerOfThisMachineIsUsedByItsPagesAlone) {
  for (const char* listens_to : {"127.0.0.1", "localhost", "::1"}) {
    const Access access = Access::of_server(listens_to, /*needs_key=*/false);
    for (const char* host :
         {"localhost", "LocalHost:7070", "127.0.0.1:7070", "[::1]:7070", "a.localhost", "localhost."})
      EXPECT_EQ(status_of(access, host, ""), 200) << host;
    for (const char* host :
         {"example.org", "127.0.0.1.example.org", "localhost.example.org", "", "128.0.0.1", "[::2]"})
      EXPECT_EQ(status_of(access, host, ""), 421) << host;
    for (const char* origin :
         {"http://localhost:7070", "http://127.0.0.1:3000", "https://[::1]", "http://a.localhost"})
      EXPECT_EQ(status_of(access, "localhost:7070", origin), 200) << origin;
    for (const char* origin :
         {"http://example.org", "https://localhost.example.org", "null", "http://", "localhost"})
      EXPECT_EQ(status_of(access, "localhost:7070", origin), 403) << origin;
    EXPECT_EQ(status_of(access, "example.org:7070", "http://example.org:7070"), 421)
        << "a name of this machine";
    EXPECT_NO_THROW(access.require({.method = "GET", .path = "/"})) << "HTTP/1.0 needs no host";
  }
}

TEST(Access, OtherServersAreUsedByAll) {
  for (const Access& access :
       {Access(), Access::of_server("0.0.0.0", false), Access::of_server("127.0.0.1", true)})
    for (const char* origin : {"", "https://example.org", "null"})
      EXPECT_EQ(status_of(access, "example.org", origin), 200);
}

TEST(Access, TakesNamesAndPages) {
  const Access access =
      Access::of_server("127.0.0.1", false, {"MT.example.org"}, {"https://app.example.org", "null"});
  EXPECT_EQ(status_of(access, "mt.example.org:443", ""), 200);
  EXPECT_EQ(status_of(access, "localhost:7070", ""), 200);
  EXPECT_EQ(status_of(access, "example.org", ""), 421);
  for (const char* origin : {"https://app.example.org", "null", "https://mt.example.org"})
    EXPECT_EQ(status_of(access, "mt.example.org", origin), 200) << origin;
  for (const char* origin : {"http://app.example.org", "https://app.example.org:444", "http://localhost"})
    EXPECT_EQ(status_of(access, "mt.example.org", origin), 403) << origin;
  for (const char* host : {"", "http://a", "a:80"})
    EXPECT_NE(error_message([&] { Access({host}, {}); }).find("is not the name of a host"), std::string::npos)
        << host;
  for (const char* origin : {"", "example.org", "https://", "https://example.org/"})
    EXPECT_NE(error_message([&] { Access({}, {origin}); }).find("is not the origin of a page"),
              std::string::npos)
        << origin;
}

/// As OpenAI's client for JavaScript asks in a browser.
TEST_F(HttpServerTest, AnswersPreflights) {
  start();
  const std::string answer =
      ask("OPTIONS /v1/completions HTTP/1.1\r\nHost: a\r\nOrigin: https://example.org\r\n"
          "Access-Control-Request-Method: POST\r\n"
          "Access-Control-Request-Headers: "
          "authorization,content-type,x-stainless-os,x-stainless-retry-count\r\n\r\n");
  has(answer, "HTTP/1.1 204 No Content\r\n");
  has(answer, "Access-Control-Allow-Origin: *\r\n");
  has(answer, "Access-Control-Allow-Methods: GET, POST, PUT, PATCH, DELETE\r\n");
  has(answer,
      "Access-Control-Allow-Headers: authorization,content-type,x-stainless-os,x-stainless-retry-count\r\n");
  EXPECT_EQ(requests_, 0);
  has(ask("OPTIONS /x HTTP/1.1\r\nHost: a\r\n\r\n"), "OPTIONS /x");
}

TEST_F(HttpServerTest, RefusesForeignPagesBeforeAnyRoute) {
  start({.access = Access::of_server("127.0.0.1", /*needs_key=*/false)});
  const auto ask_as = [&](const std::string& host, const std::string& origin) {
    return ask("POST /v2/glossaries HTTP/1.1\r\nHost: " + host + "\r\nOrigin: " + origin +
               "\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}");
  };
  const std::string foreign = ask_as("localhost", "https://example.org");
  has(foreign, "HTTP/1.1 403 Forbidden\r\n");
  has(foreign,
      R"({"message":"Pages of https://example.org may not use this server; its setting \"origins\" has)");
  EXPECT_EQ(foreign.find("Access-Control-Allow-Origin"), foreign.npos) << foreign;
  has(ask_as("example.org:7070", "http://example.org:7070"), "HTTP/1.1 421 Misdirected Request\r\n");
  EXPECT_EQ(requests_, 0);
  const std::string own = ask_as("localhost:7070", "http://localhost:7070");
  has(own, "POST /v2/glossaries {}");
  has(own, "Access-Control-Allow-Origin: http://localhost:7070\r\n");
  has(own, "Vary: Origin\r\n");
}

}  // namespace
}  // namespace sixfold::serve
