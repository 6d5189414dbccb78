#include "serve/http/http_server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "serve/http_fixture.h"

namespace sixfold::serve {
namespace {

TEST_F(HttpServerTest, AnswersRequestsOfAllKinds) {
  start();
  has(ask("GET /a%20b?q=1&q=%C3%A4 HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /a b  q=1 q=\xC3\xA4");
  has(ask(post("body")), "POST /x body");
  has(ask("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
      "POST /x abc");
  has(ask(post("--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nvalue\r\n--b\r\nContent-Disposition: "
               "form-data; "
               "name=\"file\"; filename=\"f.txt\"\r\nContent-Type: text/plain\r\n\r\ntext\r\n--b--\r\n",
               "Content-Type: multipart/form-data; boundary=b\r\n")),
      "n:value file(f.txt)text");
  const std::string parts = ask("GET /parts HTTP/1.1\r\nHost: a\r\n\r\n");
  has(parts, "4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n");
}

/// Clients of proxies name the server in the target.
TEST_F(HttpServerTest, TakesTargetsWithTheNameOfTheServer) {
  start();
  has(ask("GET http://a:70/x?q=1 HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /x  q=1");
  has(ask("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n"), "GET / ");
}

TEST_F(HttpServerTest, ReadsFormsWhateverElseTheirTypeSays) {
  start();
  const std::string body = "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nvalue\r\n--b--\r\n";
  for (const char* type : {"boundary=b", "boundary=\"b\"", "boundary=b; charset=utf-8", "boundary=\"b\";a=c",
                           "charset=utf-8; boundary=b", "Boundary=b"})
    has(ask(post(body, "Content-Type: multipart/form-data; " + std::string(type) + "\r\n")), "n:value");
  for (const char* type : {"boundary=c", "boundary=", "x=b", "boundary=\"b"})
    has(ask(post(body, "Content-Type: multipart/form-data; " + std::string(type) + "\r\n")),
        std::string(type) == "boundary=\"b" ? "n:value" : "HTTP/1.1 4");
  has(ask("GET /still HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /still");
}

TEST_F(HttpServerTest, SaysWhyARequestIsRefused) {
  start();
  has(ask("NONSENSE\r\n\r\n"), R"({"error":"The request is not valid HTTP: bad method."})");
  has(ask("GET / HTTP/9.9\r\nHost: a\r\n\r\n"), R"({"error":"The request is not valid HTTP: bad version."})");
  has(ask("FOO /x HTTP/1.1\r\nHost: a\r\n\r\n"), R"({"error":"The server does not know this method."})");
}

/// Some clients send a body with GET. Nothing of a body may be taken for the next request.
TEST_F(HttpServerTest, ReadsTheBodiesOfAllMethods) {
  start();
  const std::string body = "GET /hidden HTTP/1.1\r\n\r\n";
  const std::string length = "Host: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  for (const char* method : {"GET", "OPTIONS", "DELETE", "PUT"}) {
    SCOPED_TRACE(method);
    const std::string all =
        ask(std::string(method) + " /x HTTP/1.1\r\n" + length + body + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
    has(all, std::string(method) + " /x GET /hidden");
    has(all, "GET /next");
  }
  for (const char* method : {"FOO", "TRACE", "CONNECT", "PRI"}) {
    SCOPED_TRACE(method);
    EXPECT_EQ(ask(std::string(method) + " /x HTTP/1.1\r\n" + length + body).find("hidden"), std::string::npos);
  }
  has(ask("GET /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
      "GET /x abc");
  RawClient cut(server_->port());
  cut.send("GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  cut.hang_up();
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  start();
  const std::string all = ask(post("1") + post("2") + post("3"));
  const size_t one = all.find("POST /x 1"), two = all.find("POST /x 2"), three = all.find("POST /x 3");
  EXPECT_LT(one, two);
  EXPECT_LT(two, three);
  EXPECT_NE(three, std::string::npos) << all;
}

TEST_F(HttpServerTest, RefusesWhatIsTooLarge) {
  start({.body_bytes = 1000});
  has(ask(post(std::string(1001, 'a'))), "413");
  has(ask(post(std::string(1000, 'a'))), "200 OK");
  has(ask("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nabc"), "400");
  has(ask("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\nabc"), "400");
  const std::string chunk = "190\r\n" + std::string(400, 'a') + "\r\n";
  has(ask("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + chunk + chunk +
          "0\r\n\r\n"),
      "413");
  has(ask("GET /" + std::string(3000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), "414");
  has(ask("GET / HTTP/1.1\r\nHost: a\r\nA: " + std::string(100'000, 'a')), "431");
  std::string headers = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 20'000; ++i) headers += "H: v\r\n";
  has(ask(headers + "\r\n"), "431");
  has(ask("GET /still HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /still");
}

TEST_F(HttpServerTest, RefusesABodyOfTwoLengths) {
  start();
  has(ask("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"), "400");
  has(ask("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
      "400");
}

/// What follows a request that is not valid may be a part of its body: the connection is closed.
TEST_F(HttpServerTest, ReadsNothingAfterARequestThatIsNotValid) {
  start();
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string length = std::to_string(hidden.size());
  for (const std::string& headers :
       {"Host: a\r\nContent-Length : " + length, "Host: a\r\nContent-Length:\r\n " + length,
        std::string("Host: a\r\nTransfer-Encoding : chunked"), std::string("A: b"),
        std::string("Host: a\r\nHost: b")}) {
    const RawClient client(server_->port());
    client.send("POST /x HTTP/1.1\r\n" + headers + "\r\n\r\n" + hidden);
    const std::string all = client.receive(2000);
    has(all, "400 Bad Request");
    has(all, "Connection: close\r\n");
    EXPECT_EQ(all.find("GET /hidden"), std::string::npos) << all;
    EXPECT_TRUE(client.closed(2000));
  }
}

/// Many ranges, or many parameters of a part of a form, took seconds, or the memory of a thread.
TEST_F(HttpServerTest, LongHeadersTakeNoTime) {
  start();
  std::string ranges = "bytes=";
  for (int i = 0; i < 8'000; ++i) ranges += "0-0,";
  has(ask("GET /x HTTP/1.1\r\nHost: a\r\nRange: " + ranges + "1-1\r\n\r\n"), "GET /x");
  std::string names;
  for (int i = 0; i < 300; ++i) names += "; filename=\"a";
  has(ask(post("--b\r\nContent-Disposition: form-data; name=\"n\"" + names + "\r\n\r\nvalue\r\n--b--\r\n",
               "Content-Type: multipart/form-data; boundary=b\r\n")),
      "200 OK");
}

TEST_F(HttpServerTest, ARequestWithoutALengthHasNoBody) {
  start();
  const auto begun = Clock::now();
  const std::string all = ask("POST /x HTTP/1.1\r\nHost: a\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  has(all, "POST /x ");
  has(all, "GET /next");
  EXPECT_LT(Clock::now() - begun, milliseconds(5000)) << "it waited for a body";
}

/// The system keeps those that the server has not accepted yet, and loses none.
TEST_F(HttpServerTest, TakesManyConnectionsAtOnce) {
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  const auto begun = Clock::now();
  for (int i = 0; i < 200; ++i) clients.push_back(std::make_unique<RawClient>(server_->port()));
  EXPECT_LT(Clock::now() - begun, milliseconds(900)) << "a lost connection is asked for again after a second";
  clients.clear();
  const RawClient client(server_->port());
  client.send("GET /still HTTP/1.1\r\nHost: a\r\n\r\n");
  has(client.receive_until("GET /still", 20'000), "GET /still");  // when the others have been seen to be gone
}

TEST_F(HttpServerTest, DoesNotWaitForSlowClients) {
  start({.arrival_time = milliseconds(300), .idle_time = milliseconds(300)});
  const RawClient idle(server_->port()), slow(server_->port()), half(server_->port());
  half.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  const auto begun = Clock::now();
  bool open = true;
  for (const char c : std::string("GET / HTTP/1.1\r\nA: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")) {
    open = open && slow.send({c}) && !slow.closed(0);
    std::this_thread::sleep_for(milliseconds(25));
  }
  EXPECT_FALSE(open) << "one byte at a time goes on for ever";
  EXPECT_TRUE(idle.closed(2000));
  has(half.receive(1000), "408");
  EXPECT_LT(Clock::now() - begun, milliseconds(5000));
}

TEST_F(HttpServerTest, CancelsRequestsOfClientsThatHangUp) {
  start();
  RawClient client(server_->port());
  client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(soon([&] { return requests_ == 1; }));
  client.hang_up();
  EXPECT_TRUE(soon([&] { return cancelled_ == 1; }));
}

/// A client may say that it sends no more, and wait for the answer.
TEST_F(HttpServerTest, AnswersClientsThatSendNoMore) {
  start();
  for (const char* version : {"1.1", "1.0"}) {
    released_ = false;
    const int before = requests_;
    const RawClient client(server_->port());
    client.send("GET /wait HTTP/" + std::string(version) + "\r\nHost: a\r\n\r\n");
    client.send_no_more();
    ASSERT_TRUE(soon([&] { return requests_ > before; }));
    std::this_thread::sleep_for(milliseconds(200));  // the server finds out whether the client has gone
    released_ = true;
    const std::string answer = client.receive_until("waited", 20'000);
    has(answer, "HTTP/1.1 200 OK");
    EXPECT_EQ(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\n"), std::string(version) == "1.1") << answer;
    EXPECT_TRUE(client.closed(20'000));
  }
  EXPECT_EQ(cancelled_, 0);
}

TEST_F(HttpServerTest, KeepsConnectionsOfHttp10OnlyWhereTheyAskForIt) {
  start();
  const std::string close = ask("GET /x HTTP/1.0\r\n\r\nGET /y HTTP/1.0\r\n\r\n");
  has(close, "Connection: close\r\n");
  EXPECT_EQ(close.find("GET /y"), std::string::npos);
  const std::string keep = ask("GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /parts HTTP/1.0\r\n\r\n");
  has(keep, "Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n");
  has(keep, "Connection: close\r\n\r\none two three");
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  start();
  const std::string all =
      ask("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\nHEAD /parts HTTP/1.1\r\nHost: a\r\n\r\nGET /y HTTP/1.1\r\nHost: "
          "a\r\n\r\n");
  has(all, "Content-Length: 8\r\n");
  EXPECT_EQ(all.find("HEAD /x"), std::string::npos);
  EXPECT_EQ(all.find("one"), std::string::npos);
  has(all, "GET /y");
}

TEST_F(HttpServerTest, CancelsRequestsAtTheTimeLimit) {
  start({.request_time = milliseconds(100)});
  has(ask("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"), "503");
  EXPECT_EQ(cancelled_, 1);
}

TEST_F(HttpServerTest, RefusesTooManyConnectionsAndRecovers) {
  start({.connections = 2});
  {
    const RawClient one(server_->port()), two(server_->port());
    one.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    two.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(soon([&] { return requests_ == 2; }));
    const std::string refused = ask("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    has(refused, "503 Service Unavailable");
    has(refused, "Retry-After");
    has(refused, "Access-Control-Allow-Origin: *");
    has(refused, R"({"error":"The server has too many connections.","message":"The server has)");
  }
  EXPECT_TRUE(soon(
      [&] { return ask("GET /again HTTP/1.1\r\nHost: a\r\n\r\n").find("GET /again") != std::string::npos; }));
}

TEST_F(HttpServerTest, FinishesAcceptedRequestsWhenItStops) {
  start();
  const RawClient client(server_->port()), idle(server_->port());
  client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(soon([&] { return requests_ == 1; }));
  std::thread release([&] {
    std::this_thread::sleep_for(milliseconds(200));
    released_ = true;
  });
  stop(milliseconds(10'000));
  release.join();
  has(client.receive(), "waited");
  EXPECT_EQ(cancelled_, 0);
}

TEST_F(HttpServerTest, CancelsRequestsAfterTheGraceTime) {
  start();
  const RawClient client(server_->port());
  client.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(soon([&] { return requests_ == 1; }));
  stop(milliseconds(100));
  EXPECT_EQ(cancelled_, 1);
  has(client.receive(), "503");
}

TEST_F(HttpServerTest, CutsWhatIsHalfSentAfterTheGraceTime) {
  start();
  const RawClient head(server_->port()), body(server_->port());
  head.send("GET /x HT");
  body.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  std::this_thread::sleep_for(milliseconds(200));
  const auto begun = Clock::now();
  stop(milliseconds(100));
  EXPECT_LT(Clock::now() - begun, milliseconds(10'000)) << "the arrival time is 60 s";
}

TEST_F(HttpServerTest, SurvivesNonsense) {
  start();
  for (const std::string& bytes :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string(3, '\0'),
        std::string("GET / HTTP/9.9\r\n\r\n"), std::string("\x16\x03\x01\x02", 4),
        std::string("GET /%zz%00%ff HTTP/1.1\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        std::string("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"),
        std::string(
            "POST / HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=\r\nContent-Length: 2\r\n\r\n--"),
        std::string("POST / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab")})
    ask(bytes);
  has(ask("GET /still HTTP/1.1\r\nHost: a\r\n\r\n"), "GET /still");
}

TEST(HttpServer, SaysWhyItCannotListen) {
  const HttpServer first({.port = 0}, {});
  HttpOptions same;
  same.port = first.port();
  EXPECT_ANY_THROW(HttpServer(same, {}));
  EXPECT_ANY_THROW(HttpServer({.host = "999.1.1.1", .port = 0}, {}));
}

}  // namespace
}  // namespace sixfold::serve
