// What a server does with clients that want all of it, and how it tells them.
#include "serve/http_fixture.h"

namespace sixfold::serve {
namespace {

TEST_F(HttpServerTest, HoldsBodiesWithinALimit) {
  start({.total_body_bytes = 1000, .min_wait = milliseconds(60'000)});
  const auto gets = [&](size_t bytes, const char* status) {
    return ask(post(std::string(bytes, 'b'))).find(status) != std::string::npos;
  };
  std::unique_ptr<RawClient> waiting;
  ASSERT_TRUE(soon([&] {
    waiting = std::make_unique<RawClient>(server_->port());
    waiting->send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n" + std::string(800, 'a'));
    std::this_thread::sleep_for(milliseconds(100));
    if (gets(300, "503")) return true;
    waiting.reset();  // the other body has come first, and this one may have been refused
    soon([&] { return gets(900, "200 OK"); });
    return false;
  }));
  const RawClient& half = *waiting;
  const std::string refused = ask(post(std::string(300, 'b')));
  has(refused, "The server has no room for another body.");
  has(refused, "Retry-After: 1\r\n");
  const std::string plain =
      ask("GET /x HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\n\r\n" + std::string(300, 'b'));
  has(plain, "503 Service Unavailable");
  has(ask(post(std::string(100, 'b'))), "200 OK");
  half.send(std::string(100, 'a'));
  has(half.receive_until("200 OK", 20'000), "200 OK");
  EXPECT_TRUE(soon([&] { return gets(300, "200 OK"); })) << "what was held is given back";
}

/// Whoever sends bodies up to their last bytes, as many as the server holds, keeps nobody out.
TEST_F(HttpServerTest, UnfinishedBodiesMakeRoom) {
  start({.total_body_bytes = 1000, .min_wait = milliseconds(50)});
  const auto unfinished = [&] {
    auto client = std::make_unique<RawClient>(server_->port());
    client->send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n" + std::string(490, 'a'));
    return client;
  };
  const RawClient idle(server_->port());  // has no body, and stays
  const auto first = unfinished();
  std::this_thread::sleep_for(milliseconds(300));
  const auto second = unfinished();
  std::this_thread::sleep_for(milliseconds(300));
  has(ask(post(std::string(300, 'b'))), "200 OK");
  const std::string ended = first->receive();
  has(ended, "503 Service Unavailable");
  has(ended, "this request arrived too slowly");
  has(ended, "Retry-After: 1\r\n");
  second->send(std::string(10, 'a'));
  has(second->receive_until("200 OK", 20'000), "200 OK");
  idle.send("GET /idle HTTP/1.1\r\nHost: a\r\n\r\n");
  has(idle.receive_until("GET /idle", 20'000), "GET /idle");
}

/// Bodies that hold nothing do not end for one that holds much.
TEST_F(HttpServerTest, TheLargestBodyMakesRoom) {
  start({.total_body_bytes = 1000, .min_wait = milliseconds(50)});
  const auto begin = [&](size_t length, size_t sent) {
    auto client = std::make_unique<RawClient>(server_->port());
    client->send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n" +
                 std::string(sent, 'a'));
    return client;
  };
  std::vector<std::unique_ptr<RawClient>> small;
  for (int i = 0; i < 5; ++i) small.push_back(begin(100, 0));
  small.push_back(begin(100, 20));
  const auto large = begin(990, 900);
  std::this_thread::sleep_for(milliseconds(300));
  has(ask(post(std::string(300, 'b'))), "200 OK");
  has(large->receive(), "this request arrived too slowly");
  for (size_t i = 0; i < small.size(); ++i) {
    small[i]->send(std::string(i < 5 ? 100 : 80, 'a'));
    has(small[i]->receive_until("200 OK", 20'000), "200 OK");
  }
}

/// Even if it is the one that grows.
TEST_F(HttpServerTest, TheLargestBodyEndsNoSmallerOne) {
  start({.total_body_bytes = 1000, .min_wait = milliseconds(50)});
  const RawClient large(server_->port()), small(server_->port());
  large.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 990\r\n\r\n" + std::string(700, 'a'));
  small.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 200\r\n\r\n" + std::string(190, 'a'));
  std::this_thread::sleep_for(milliseconds(300));
  large.send(std::string(280, 'a'));
  has(large.receive_until("no room", 20'000), "The server has no room for another body.");
  small.send(std::string(10, 'a'));
  has(small.receive_until("200 OK", 20'000), "200 OK");
}

/// One that was ended, and whose client has not gone, is not counted any more.
TEST_F(HttpServerTest, AnEndedConnectionGivesItsPlace) {
  start({.connections = 6, .min_wait = milliseconds(50)});
  std::vector<std::unique_ptr<RawClient>> slow;
  for (int i = 0; i < 6; ++i) {
    slow.push_back(std::make_unique<RawClient>(server_->port()));
    slow.back()->send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  }
  std::this_thread::sleep_for(milliseconds(300));
  for (int i = 0; i < 10; ++i) {
    const RawClient client(server_->port());
    client.send("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    has(client.receive_until("GET /x", 20'000), "GET /x");
    EXPECT_TRUE(client.closed(20'000));
  }
  int ended = 0;
  for (const auto& one : slow) ended += !one->receive_some(100).empty();
  EXPECT_GE(ended, 1);
  EXPECT_LE(ended, 2) << "a newcomer may come before the one before it has left";
}

/// Of two bodies that do not fit together one arrives.
TEST_F(HttpServerTest, OneOfTwoBodiesArrives) {
  start({.total_body_bytes = 1000, .min_wait = milliseconds(50)});
  std::vector<std::unique_ptr<RawClient>> both;
  for (int i = 0; i < 2; ++i) {
    both.push_back(std::make_unique<RawClient>(server_->port()));
    both.back()->send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 700\r\n\r\n" + std::string(400, 'a'));
  }
  std::this_thread::sleep_for(milliseconds(300));
  for (const auto& one : both) one->send(std::string(300, 'a'));
  int arrived = 0;
  for (const auto& one : both)
    arrived += one->receive_until("\r\n\r\n", 20'000).find("200 OK") != std::string::npos;
  EXPECT_GE(arrived, 1);
  EXPECT_EQ(cancelled_, 0);
}

/// Whoever opens all connections and sends half of a request on each keeps nobody out.
TEST_F(HttpServerTest, HalfSentRequestsMakeRoom) {
  start({.connections = 3, .min_wait = milliseconds(50)});
  const RawClient busy(server_->port());
  busy.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(soon([&] { return requests_ == 1; }));
  const RawClient head(server_->port()), body(server_->port());
  head.send("GET /x HT");
  body.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  std::this_thread::sleep_for(milliseconds(300));
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(soon(
        [&] { return ask("GET /again HTTP/1.1\r\nHost: a\r\n\r\n").find("GET /again") != std::string::npos; }));
  EXPECT_EQ(cancelled_, 0) << "a request that has arrived is not ended";
  released_ = true;
  has(busy.receive_until("waited", 20'000), "waited");
}

TEST_F(HttpServerTest, AConnectionHasAMomentInAnyCase) {
  start({.connections = 1, .min_wait = milliseconds(60'000)});
  const RawClient head(server_->port());
  head.send("GET /x HT");
  std::this_thread::sleep_for(milliseconds(200));
  has(ask("GET /again HTTP/1.1\r\nHost: a\r\n\r\n"), "503 Service Unavailable");
  head.send("TP/1.1\r\nHost: a\r\n\r\n");
  has(head.receive_until("GET /x", 20'000), "GET /x");
}

TEST_F(HttpServerTest, LimitsMayChangeWhileItRuns) {
  start();
  const RawClient client(server_->port());
  client.send(post("abcd"));
  has(client.receive_until("abcd", 20'000), "POST /x abcd");
  HttpOptions less;
  less.body_bytes = 3;
  less.access = Access({"b"}, {"*"});
  server_->reconfigure(less);
  client.send(post("abcd"));
  has(client.receive_until("bytes.", 20'000), "413");
  EXPECT_EQ(refused_, 413);
  has(ask(post("abc")), "421");
  EXPECT_EQ(refused_, 421);
}

/// Every error can be read by pages of other origins, and by the clients of the face that was asked.
TEST_F(HttpServerTest, ErrorsBeforeAnyRouteHaveTheFormOfTheirFace) {
  start({.body_bytes = 100});
  const std::string all = "Access-Control-Allow-Origin: *\r\n", long_body = "Content-Length: 101\r\n\r\n";
  const auto refused = [&](const std::string& request, const std::string& part) {
    const std::string answer = ask(request);
    has(answer, all);
    has(answer, part);
    has(answer, "Connection: close\r\n");
    EXPECT_EQ(answer.find("Connection: close"), answer.rfind("Connection: close")) << answer;
    EXPECT_EQ(answer.find("Keep-Alive"), answer.npos) << answer;
  };
  refused("POST /v2/translate HTTP/1.1\r\nHost: a\r\n" + long_body,
          "\r\n\r\n{\"message\":\"The body is longer");
  refused("POST /v1/translate HTTP/1.1\r\nHost: a\r\n" + long_body,
          "\r\n\r\n{\"error\":{\"message\":\"The body");
  refused("POST /v1/completions HTTP/1.1\r\nHost: a\r\n" + long_body, "\"type\":\"invalid_request_error\"");
  refused("POST /translate HTTP/1.1\r\nHost: a\r\nConnection: close\r\n" + long_body,
          "\r\n\r\n{\"error\":\"The body is longer");
  refused("GET /v2/usage HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n",
          "\r\n\r\n{\"message\":\"The server does not know what this request expects.\"}");
}

/// A client that takes its answer bit by bit does not do so for ever.
TEST_F(HttpServerTest, SlowReadersEndAfterTheTimeLimit) {
  start({.request_time = milliseconds(300), .write_time = milliseconds(700)});
  const RawClient client(server_->port());
  client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
  size_t bytes = 0;
  for (int i = 0; i < 100; ++i) {
    bytes += client.receive_some(1000).size();
    std::this_thread::sleep_for(milliseconds(20));
  }
  for (std::string some; !(some = client.receive_some(2000)).empty();) bytes += some.size();
  EXPECT_LT(bytes, size_t{64} << 20);
}

}  // namespace
}  // namespace sixfold::serve
