// How the bytes of a connection become requests.
#include "serve/http/http_message.h"

#include <gtest/gtest.h>

#include "serve/memory_source.h"

namespace sixfold::serve {
namespace {

class HttpMessage : public testing::Test {
 protected:
  /// Reads the connection in pieces of several sizes, which must not matter.
  static ReadConnection read(const std::string& bytes, const RequestLimits& limits = {}) {
    ReadConnection whole = read_connection(bytes, bytes.size(), limits);
    for (const size_t piece : {1, 2, 7}) {
      const ReadConnection pieces = read_connection(bytes, piece, limits);
      EXPECT_EQ(pieces.requests.size(), whole.requests.size()) << bytes;
      EXPECT_EQ(pieces.status == 0, whole.status == 0) << bytes << pieces.message << whole.message;
    }
    return whole;
  }

  static std::string post(const std::string& headers, const std::string& body) {
    return "POST /x HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" + body;
  }

  static inline const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";

  /// The first request is refused, and nothing of what follows is read as another one.
  static void expect_refused(const std::string& bytes, int status = 400) {
    const ReadConnection result = read(bytes);
    EXPECT_EQ(result.requests.size(), 0u) << bytes;
    EXPECT_EQ(result.status, status) << bytes << result.message;
  }

  static std::string form(const std::string& type, const std::string& body) {
    return post("Content-Type: multipart/form-data; " + type +
                    "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n",
                body);
  }

  static std::string part(const std::string& disposition, const std::string& content) {
    return "--b\r\nContent-Disposition: " + disposition + "\r\n\r\n" + content + "\r\n";
  }
};

TEST_F(HttpMessage, RefusesLengthsThatOthersCouldReadDifferently) {
  const std::string length = std::to_string(hidden.size());
  for (const std::string& header : std::vector<std::string>{
           "Content-Length : " + length, "Content-Length\t: " + length, "Content-Length:\r\n " + length,
           "Content-Length: 0\r\n " + length, "A: b\r\n Content-Length: " + length, "A: b\r\n\tc",
           "Content-Length: " + length + "\r\nContent-Length: 0", "Content-Length: 3\r\nContent-Length: 3",
           "Content-Length: 3, 3", "Content-Length: +3", "Content-Length: -3", "Content-Length: 0x3",
           "Content-Length: 3 3", "Content-Length:", "Content-Length: 99999999999999999999",
           "Content-Length: 3\r\nTransfer-Encoding: chunked",
           "Transfer-Encoding: chunked\r\nContent-Length: 3"})
    expect_refused(post(header + "\r\n", hidden));
}

TEST_F(HttpMessage, RefusesEncodingsThatOthersCouldReadDifferently) {
  for (const char* header : {"Transfer-Encoding : chunked", "Transfer-Encoding:\r\n chunked",
                             "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"})
    expect_refused(post(std::string(header) + "\r\n", "0\r\n\r\n" + hidden));
  for (const char* value :
       {"gzip, chunked", "identity", "chunked, chunked", "xchunked", "\"chunked\"", "", "chunked,"})
    expect_refused(post("Transfer-Encoding: " + std::string(value) + "\r\n", "0\r\n\r\n" + hidden), 501);
  expect_refused("POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden);
  expect_refused(post("Content-Encoding: gzip\r\nContent-Length: 2\r\n", "ab"), 415);
}

TEST_F(HttpMessage, RefusesChunksThatOthersCouldReadDifferently) {
  for (const char* chunks :
       {"3\r\nabcXX\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n",
        "+3\r\nabc\r\n0\r\n\r\n", " 3\r\nabc\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n",
        "\r\n3\r\nabc\r\n0\r\n\r\n", "3;a\nb\r\nabc\r\n0\r\n\r\n", "3;a=\"\n\"\r\nabc\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\nabc\r\n0\r\n\r\n", "0\r\nContent-Length: 3\r\n\r\n"})
    expect_refused(post("Transfer-Encoding: chunked\r\n", chunks + hidden));
  const std::string long_line = "3;a=" + std::string(5000, 'b') + "\r\nabc\r\n0\r\n\r\n";
  expect_refused(post("Transfer-Encoding: chunked\r\n", long_line + hidden));
}

TEST_F(HttpMessage, ReadsChunks) {
  const ReadConnection result =
      read(post("transfer-encoding: Chunked\r\n",
                "3\r\nabc\r\n0005;a=b;c=\"d\"\r\ndefgh\r\n0\r\nHost: b\r\nA: c\r\n\r\n") +
           hidden);
  ASSERT_EQ(result.requests.size(), 2u) << result.message;
  EXPECT_EQ(result.requests[0].request.body, "abcdefgh");
  EXPECT_EQ(result.requests[0].request.header("host"), "a") << "what follows the chunks changes no header";
  EXPECT_FALSE(result.requests[0].request.headers.contains("a"));
  EXPECT_EQ(result.requests[1].request.path, "/hidden");
}

TEST_F(HttpMessage, RefusesLinesThatOthersCouldReadDifferently) {
  const std::string nul(1, '\0');
  for (const std::string& request :
       std::vector<std::string>{"GET / HTTP/1.1\r\n\r\n",
                                "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
                                "GET / HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nOrigin: http://b\r\n\r\n",
                                "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
                                "GET / HTTP/1.1\r\nHost: a\r\nA: b" + nul + "\r\n\r\n",
                                "GET / HTTP/1.1\r\nHost: a\r\nA: b\rc\r\n\r\n",
                                "GET / HTTP/1.1\r\nHost: a\r\nA: b\nC: d\r\n\r\n",
                                "GET / HTTP/1.1\nHost: a\n\n",
                                "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n",
                                "GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n",
                                "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
                                "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
                                "GET / a HTTP/1.1\r\nHost: a\r\n\r\n",
                                "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
                                "GET /\r\n\r\n",
                                "GET /" + nul + " HTTP/1.1\r\nHost: a\r\n\r\n",
                                "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
                                "GET / http/1.1\r\nHost: a\r\n\r\n",
                                "\x16\x03\x01\x02",
                                std::string("GET / HTTP/1.1\r\nHost: a\r\nConnection: \"\r\n\r\n")})
    expect_refused(request + hidden);
  for (const char* method : {"FOO", "TRACE", "CONNECT", "PRI", "get"})
    expect_refused(std::string(method) + " /x HTTP/1.1\r\nHost: a\r\n\r\n" + hidden, 501);
  EXPECT_EQ(read("GET / HTTP/1.0\r\n\r\n").requests.size(), 1u);
}

TEST_F(HttpMessage, ReadsRequestsOneAfterAnother) {
  const ReadConnection result = read(
      post("Content-Length: 3\r\n", "abc") + "\r\n" + post("Content-Length: 0\r\n", "") + hidden +
      "GET http://b:70?q=a%20b#c HTTP/1.1\r\nHost: a\r\nRange: bytes=0-0,0-0\r\nConnection: close\r\n\r\n" +
      hidden);
  ASSERT_EQ(result.requests.size(), 4u) << result.message;
  EXPECT_EQ(result.requests[0].request.body, "abc");
  EXPECT_EQ(result.requests[1].request.body, "");
  EXPECT_EQ(result.requests[2].request.path, "/hidden");
  const HttpRequest& last = result.requests[3].request;
  EXPECT_EQ(last.path, "/");
  EXPECT_EQ(last.header("host"), "b:70");
  EXPECT_EQ(last.query.find("q")->second, "a b");
  EXPECT_FALSE(result.requests[3].keep_alive);
}

TEST_F(HttpMessage, KeepsItsLimitsHoweverBytesArrive) {
  const RequestLimits limits{.target_bytes = 20, .head_bytes = 100, .body_bytes = 10};
  const auto status = [&](const std::string& bytes) { return read(bytes, limits).status; };
  const auto head = [](size_t bytes) {
    const std::string begin = "GET / HTTP/1.1\r\nHost: a\r\nA: ", end = "\r\n\r\n";
    return begin + std::string(bytes - begin.size() - end.size(), 'b') + end;
  };
  EXPECT_EQ(status(head(100)), 0);
  EXPECT_EQ(status(head(101)), 431);
  EXPECT_EQ(status("GET /" + std::string(19, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
  EXPECT_EQ(status("GET /" + std::string(20, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
  EXPECT_EQ(status("GET /" + std::string(90, 'a')), 414);
  EXPECT_EQ(status(post("Content-Length: 10\r\n", std::string(10, 'a'))), 0);
  EXPECT_EQ(status(post("Content-Length: 11\r\n", std::string(11, 'a'))), 413);
  const std::string chunked = "Transfer-Encoding: chunked\r\n", five = "5\r\nabcde\r\n";
  EXPECT_EQ(status(post(chunked, five + five + "0\r\n\r\n")), 0);
  EXPECT_EQ(status(post(chunked, five + five + "1\r\na\r\n0\r\n\r\n")), 413);
  EXPECT_EQ(status(post(chunked, five + "1;a=" + std::string(100, 'a') + "\r\na\r\n0\r\n\r\n")), 413);
}

TEST_F(HttpMessage, TellsClientsToSendTheBody) {
  const std::string expects = "Expect: 100-continue\r\nContent-Length: 3\r\n";
  EXPECT_EQ(read_connection(post(expects, "abc"), 1).continues, 1);
  EXPECT_EQ(read_connection(post(expects, "abc"), 1000).continues, 0) << "the body has come";
  EXPECT_EQ(read_connection(post(expects, "abc"), 1, {.body_bytes = 2}).continues, 0);
  expect_refused(post("Expect: tea\r\n", ""), 417);
}

TEST_F(HttpMessage, ReadsForms) {
  const ReadConnection result = read(form(
      "boundary=b", "preamble\r\n" + part("form-data; name=\"n\"", "value\r\n--c") +
                        part("form-data; name=m; filename=\"\"", "") +
                        "--b \r\ncontent-type: text/plain\r\ncontent-disposition: "
                        "form-data;filename=\"a\\\"\\\\\\b;.txt\"; Name=\"file\"\r\n\r\ntext\r\n" +
                        part("form-data; name=\"file\"; filename=\"x\"; filename*=UTF-8''%C3%A4.txt", "\r\n") +
                        "--b--\r\nepilogue"));
  ASSERT_EQ(result.requests.size(), 1u) << result.message;
  const HttpRequest& request = result.requests[0].request;
  EXPECT_EQ(request.body, "");
  ASSERT_EQ(request.form.size(), 2u);
  EXPECT_EQ(request.form.find("n")->second, "value\r\n--c");
  EXPECT_EQ(request.form.find("m")->second, "");
  ASSERT_EQ(request.files.size(), 2u);
  EXPECT_EQ(request.files[0].field, "file");
  EXPECT_EQ(request.files[0].file_name, "a\"\\\\b;.txt");
  EXPECT_EQ(request.files[0].content_type, "text/plain");
  EXPECT_EQ(request.files[0].content, "text");
  EXPECT_EQ(request.files[1].file_name, "\xC3\xA4.txt");
  EXPECT_EQ(request.files[1].content, "\r\n");
  EXPECT_EQ(read(form("boundary=b", "--b--\r\n")).status, 0) << "a form may be empty";
}

TEST_F(HttpMessage, RefusesFormsThatAreNone) {
  const std::string good = part("form-data; name=\"n\"", "value") + "--b--\r\n";
  for (const auto& [type, body] : std::vector<std::pair<std::string, std::string>>{
           {"boundary=", good},
           {"charset=b", good},
           {"boundary=c", good},
           {"boundary=" + std::string(71, 'b'), good},
           {"boundary=b", ""},
           {"boundary=b", part("form-data; name=\"n\"", "value")},
           {"boundary=b", "--b\r\n\r\nvalue\r\n--b--\r\n"},
           {"boundary=b", part("attachment; name=\"n\"", "value") + "--b--\r\n"},
           {"boundary=b", part("form-data; filename=\"n\"", "value") + "--b--\r\n"},
           {"boundary=b", part("form-data; name=\"n\"" + std::string(5000, ';'), "value") + "--b--\r\n"}})
    expect_refused(form(type, body));
  std::string many;
  for (int i = 0; i < 4097; ++i) many += part("form-data; name=\"n\"", "");
  const std::string all = form("boundary=b", many + "--b--\r\n");
  EXPECT_EQ(read_connection(all, all.size()).status, 413);
}

}  // namespace
}  // namespace sixfold::serve
