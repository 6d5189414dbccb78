#include <filesystem>

#include "base/file.h"
#include "error_message.h"
#include "serve/http/random_name.h"
#include "serve/service_fixture.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

class FilesTest : public ServiceFixture {
 protected:
  HttpAnswer send(const std::string& name, const std::string& content, const std::string& source = "en") const {
    return ask({.method = "POST",
                .path = "/translate_file",
                .headers = {{"content-type", "multipart/form-data; boundary=x"}, {"host", "example.org:7070"}},
                .body = "",
                .form = {{"source", source}, {"target", "de"}},
                .files = {{"file", name, "text/plain", content}}});
  }
  /// The path of the translation.
  std::string path_of(const HttpAnswer& answer) const {
    const std::string url = json(answer)["translatedFileUrl"], start = "http://example.org:7070";
    EXPECT_TRUE(url.starts_with(start + "/download_file/")) << url;
    return url.substr(start.size());
  }
  std::string file(const std::string& name, const std::string& content) const {
    const HttpAnswer answer = get(path_of(send(name, content)));
    EXPECT_EQ(answer.status, 200);
    return answer.body;
  }
};

TEST_F(FilesTest, AreTranslatedByTheirKind) {
  EXPECT_EQ(file("a.txt", "\uFEFFa b\n\nc d\r\n"),
            "\uFEFF" + translated("a b") + "\n\n" + translated("c d") + "\r\n");
  EXPECT_EQ(
      file("a.HTML", "<p>a b</p>"),
      json(post(
          "/translate",
          {{"q", "<p>a b</p>"}, {"source", "en"}, {"target", "de"}, {"format", "html"}}))["translatedText"]);
  EXPECT_EQ(file("a.xml", "<doc><p>a b c</p></doc>"), "<doc><p>" + translated("a b c") + "</p></doc>");
  const std::string times = "1\n00:00:01,000 --> 00:00:02,000\n";
  EXPECT_EQ(file("a.srt", times + "a b c\n"), times + translated("a b c") + "\n");
  EXPECT_EQ(file("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\na b c\n"),
            "WEBVTT\n\n00:01.000 --> 00:02.000\n" + translated("a b c") + "\n");
  const std::string begin = "<xliff version=\"2.0\" srcLang=\"en\" trgLang=\"",
                    source = "<source>a b c</source>";
  EXPECT_EQ(file("a.xlf", begin + "de\"><unit><segment>" + source + "</segment></unit></xliff>"),
            begin + "de\"><unit><segment state=\"translated\">" + source + "<target>" + translated("a b c") +
                "</target></segment></unit></xliff>");
  expect_refused(send("a.xliff", begin + "fr\"><unit/></xliff>"), 400, "into fr");
  EXPECT_EQ(file("a.md", "```\ncode\n```\n\n# a b c\n"), "```\ncode\n```\n\n# " + translated("a b c") + "\n");
  EXPECT_EQ(file("a.po", "msgid \"d\"\nmsgstr \"x\"\n\nmsgid \"h g\"\nmsgstr \"\"\n").substr(0, 35),
            "msgid \"d\"\nmsgstr \"x\"\n\nmsgid \"h g\"\nm");
  const HttpAnswer answer = get(path_of(send("../../etc/passwd.txt", "a")));
  EXPECT_NE(std::find(answer.headers.begin(), answer.headers.end(),
                      std::pair<std::string, std::string>("Content-Disposition",
                                                          "attachment; filename=\"translation.txt\"")),
            answer.headers.end());
  const Json settings = json(get("/frontend/settings"));
  EXPECT_EQ(settings["filesTranslation"], true);
  EXPECT_EQ(settings["supportedFilesFormat"].size(), document_formats().size() + 1);
  EXPECT_EQ(settings["supportedFilesFormat"][0], ".txt");
}

TEST_F(FilesTest, NamesAreTheServersOwn) {
  const std::string one = path_of(send("a.txt", "a")), two = path_of(send("a.txt", "a"));
  EXPECT_NE(one, two);
  EXPECT_TRUE(is_random_name(one.substr(15, 36))) << one;
  for (const std::string path : {"/download_file/a.txt", "/download_file/../../etc/passwd.txt",
                                 "/download_file/.txt", "/download_file/abc"})
    expect_refused(get(path), 404, "There is no file of this name");
}

/// The header comes from the client, who may have it from others.
TEST_F(FilesTest, AddressesHaveNamesOfHostsOnly) {
  const auto url = [&](const std::string& host) {
    const HttpAnswer answer =
        ask({.method = "POST",
             .path = "/translate_file",
             .headers = {{"content-type", "multipart/form-data; boundary=x"}, {"host", host}},
             .body = "",
             .form = {{"source", "en"}, {"target", "de"}},
             .files = {{"file", "a.txt", "text/plain", "a"}}});
    return json(answer)["translatedFileUrl"].get<std::string>();
  };
  for (const std::string host :
       {"example.org", "my-host_1:80", "127.0.0.1:7070", "[::1]:7070", "[fe80::1%25eth0]"})
    EXPECT_TRUE(url(host).starts_with("http://" + host + "/download_file/")) << url(host);
  for (const std::string host : {"", "a b", "evil.org/x?", "user@evil.org", "a:b", "a:", "a:1234567", "[::1",
                                 "::1", "[]", "[a]b", "<script>", "a\\"})
    EXPECT_TRUE(url(host).starts_with("/download_file/")) << url(host);
}

TEST_F(FilesTest, AreRefusedByName) {
  expect_refused(send("a.pdf", "a"), 400, "Files of the kind '.pdf' can't be translated");
  expect_refused(send("a", "a"), 400, "can't be translated");
  expect_refused(send("a.txt", "\xFF"), 400, "not valid UTF-8");
  expect_refused(send("a.txt", std::string("a\0b", 3)), 400, "NUL");
  expect_refused(send("a.srt", "hello"), 400, "text 1, line 1");
  expect_refused(send("a.po", "hello"), 400, "text 1, line 1");
  expect_refused(send("a.txt", "a", "fr"), 400, "There is no model from fr to de");
  expect_refused(post("/translate_file", {{"source", "en"}, {"target", "de"}}), 400, "Send one file");
  expect_refused(get("/translate_file"), 405, "POST");
}

TEST_F(FilesTest, AreKeptForAWhileOnly) {
  const KeptFiles::Clock::time_point now{};
  KeptFiles files({.max_count = 3, .max_bytes = 10, .max_age = std::chrono::seconds(60)});
  const std::string one = files.add("12345", ".txt", now), two = files.add("12345", ".txt", now);
  EXPECT_EQ(files.find(one, now), "12345");
  const std::string three = files.add("1", ".txt", now + std::chrono::seconds(30));
  EXPECT_ANY_THROW(files.find(one, now)) << "no room";
  EXPECT_EQ(files.find(two, now + std::chrono::seconds(59)), "12345");
  EXPECT_ANY_THROW(files.find(two, now + std::chrono::seconds(60)));
  EXPECT_EQ(files.find(three, now + std::chrono::seconds(60)), "1");
  EXPECT_ANY_THROW(files.add("12345678901", ".txt", now));
  for (int i = 0; i < 3; ++i) files.add("", ".txt", now + std::chrono::seconds(61));
  EXPECT_ANY_THROW(files.find(three, now + std::chrono::seconds(61))) << "too many";
}

TEST_F(FilesTest, SuggestionsAreWrittenWhereTheSettingsSay) {
  const Json suggestion{{"q", "a\nb"}, {"s", "h"}, {"source", "en"}, {"target", "de"}};
  expect_refused(post("/suggest", suggestion), 403, "takes no suggestions");
  const std::string path = folder_ / "suggestions.jsonl";
  start({.suggestions = path});
  EXPECT_EQ(json(get("/frontend/settings"))["suggestions"], true);
  EXPECT_EQ(json(post("/suggest", suggestion)), (Json{{"success", true}}));
  start({.suggestions = path});
  EXPECT_EQ(json(post("/suggest", suggestion)), (Json{{"success", true}}));
  const std::string line = R"({"q":"a\nb","s":"h","source":"en","target":"de"})";
  EXPECT_EQ(read_file(path), line + "\n" + line + "\n");
  Json wrong = suggestion;
  wrong["target"] = "fr";
  expect_refused(post("/suggest", wrong), 400, "no model from en to fr");
  wrong = suggestion;
  wrong.erase("s");
  expect_refused(post("/suggest", wrong), 400, "\\\"s\\\"");
  EXPECT_NE(error_message([&] { start({.suggestions = en_de_ + "/config.json"}); }).find("config.json"),
            std::string::npos);
  write_file_atomically(folder_ / "mine", "text");
  EXPECT_NE(
      error_message([&] { start({.suggestions = folder_ / "mine"}); }).find("is not a file of suggestions"),
      std::string::npos);
  EXPECT_EQ(read_file(folder_ / "mine"), "text");
}

}  // namespace
}  // namespace sixfold::serve
