#include "serve/glossaries.h"

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "error_message.h"
#include "serve/http/random_name.h"
#include "serve/service_fixture.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

class GlossariesTest : public ServiceFixture {
 protected:
  Json wanted(const std::string& entries = "a b\th h\nC\tg") const {
    return {{"name", "terms"},
            {"source_lang", "EN"},
            {"target_lang", "de"},
            {"entries_format", "tsv"},
            {"entries", entries}};
  }
  std::string create(const Json& request) const {
    const HttpAnswer answer = post("/v2/glossaries", request);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return Json::parse(answer.body)["glossary_id"];
  }
  std::string with(const std::string& id, const std::string& text) const {
    return json(post("/v2/translate", {{"text", text},
                                       {"source_lang", "EN"},
                                       {"target_lang", "DE"},
                                       {"glossary_id", id}}))["translations"][0]["text"];
  }
  HttpAnswer remove(const std::string& id) const {
    return ask({.method = "DELETE", .path = "/v2/glossaries/" + id});
  }
};

TEST_F(GlossariesTest, AreMadeListedUsedAndDeleted) {
  EXPECT_EQ(json(get("/v2/glossaries"))["glossaries"], Json::array());
  const HttpAnswer made = post("/v2/glossaries", wanted());
  EXPECT_EQ(made.status, 201);
  const Json info = Json::parse(made.body);
  EXPECT_TRUE(is_random_name(info["glossary_id"]));
  EXPECT_EQ(info["entry_count"], 2);
  EXPECT_EQ(info["ready"], true);
  EXPECT_EQ(info["source_lang"], "en");
  const std::string id = info["glossary_id"];
  EXPECT_EQ(json(get("/v2/glossaries"))["glossaries"], Json::array({info}));
  EXPECT_EQ(json(get("/v2/glossaries/" + id)), info);
  EXPECT_EQ(get("/v2/glossaries/" + id + "/entries").body, "a b\th h\nC\tg\n");
  EXPECT_NE(with(id, "f A b").find("h h"), std::string::npos);
  EXPECT_NE(with(id, "d C").find("g"), std::string::npos);
  EXPECT_EQ(with(id, "d e f"), translated("d e f"));
  const Json own = json(post("/v1/translate", {{"text", "a b"}, {"model", "en-de"}, {"glossary_id", id}}));
  EXPECT_NE(own["results"][0]["text"].get<std::string>().find("h h"), std::string::npos);
  const Json html = json(post("/v2/translate", {{"text", "<p>f a b</p>"},
                                                {"source_lang", "EN"},
                                                {"target_lang", "DE"},
                                                {"tag_handling", "html"},
                                                {"glossary_id", id}}));
  EXPECT_NE(html["translations"][0]["text"].get<std::string>().find("h h"), std::string::npos);
  expect_refused(
      post("/v1/translate", {{"text", "h"}, {"model", "en-de"}, {"glossary_id", id}, {"sample", true}}), 400,
      "sample draws translations");
  EXPECT_EQ(remove(id).status, 204);
  expect_refused(remove(id), 404, "no glossary with this id");
  expect_refused(get("/v2/glossaries/" + id + "/entries"), 404, "no glossary with this id");
  EXPECT_EQ(json(get("/v2/glossary-language-pairs"))["supported_languages"].size(), 2u);
}

TEST_F(GlossariesTest, EntriesMayBeCsv) {
  Json request = wanted("\"a, \"\"b\"\"\",h\r\nc,\"d\",en,de\n");
  request["entries_format"] = "csv";
  EXPECT_EQ(get("/v2/glossaries/" + create(request) + "/entries").body, "a, \"b\"\th\nc\td\n");
  request["entries"] = "\uFEFFa,h\n";  // as Excel writes it
  EXPECT_EQ(get("/v2/glossaries/" + create(request) + "/entries").body, "a\th\n");
}

TEST_F(GlossariesTest, AreRefusedByName) {
  const auto refused = [&](const char* key, const Json& value, const std::string& part) {
    Json request = wanted();
    request[key] = value;
    expect_refused(post("/v2/glossaries", request), 400, part);
  };
  refused("entries_format", "xlsx", "entries_format");
  refused("entries", "a b\n", "entries:1: a line has a source phrase, a tab");
  refused("entries", "", "has no entries");
  refused("entries", "a\tb\na\tc", "is the source phrase of entry 1 too");
  refused("name", "", "has a name");
  refused("name", std::string(2000, 'a'), "has a name");
  refused("source_lang", "FR", "Value for 'source_lang' not supported: FR");
  refused("target_lang", "EN", "no model from en to en");
  const std::string id = create(wanted());
  expect_refused(
      post("/v2/translate", {{"text", "a"}, {"source_lang", "DE"}, {"target_lang", "EN"}, {"glossary_id", id}}),
      400, "The glossary is for en to de");
  expect_refused(post("/v2/translate",
                      {{"text", "a"}, {"source_lang", "EN"}, {"target_lang", "DE"}, {"glossary_id", "x"}}),
                 404, "no glossary");
}

TEST_F(GlossariesTest, AreBoundedForEachKeyAndSeenByItAlone) {
  const std::string keys = folder_ / "keys";
  write_file_atomically(keys, "one\ntwo\n");
  start({.keys = keys, .glossary_limits = {.max_count = 2, .max_bytes = 40}});
  const auto ask_as = [&](const std::string& key, const std::string& method, const std::string& path,
                          const Json& body = {}) {
    return ask({.method = method,
                .path = path,
                .headers = {{"content-type", "application/json"}, {"authorization", "DeepL-Auth-Key " + key}},
                .body = body.is_null() ? "" : body.dump()});
  };
  const auto made = ask_as("one", "POST", "/v2/glossaries", wanted("a\tb"));
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string id = Json::parse(made.body)["glossary_id"];
  expect_refused(ask_as("one", "POST", "/v2/glossaries", wanted("a\t" + std::string(60, 'b'))), 456, "bytes");
  EXPECT_EQ(ask_as("one", "POST", "/v2/glossaries", wanted("a\tb")).status, 201);
  expect_refused(ask_as("one", "POST", "/v2/glossaries", wanted("a\tb")), 456, "2 glossaries already");
  EXPECT_EQ(ask_as("two", "POST", "/v2/glossaries", wanted("a\tb")).status, 201);
  EXPECT_EQ(json(ask_as("two", "GET", "/v2/glossaries"))["glossaries"].size(), 1u);
  for (const char* method : {"GET", "DELETE"})
    expect_refused(ask_as("two", method, "/v2/glossaries/" + id), 404, "no glossary");
  expect_refused(ask_as("three", "GET", "/v2/glossaries"), 403, "not known");
  EXPECT_EQ(json(ask_as("one", "GET", "/v2/glossaries"))["glossaries"].size(), 2u);
}

TEST_F(GlossariesTest, OutliveTheServerInAFolder) {
  const std::string kept = folder_ / "kept";
  start({.glossaries = kept});
  const std::string one = create(wanted()), two = create(wanted("x\ty"));
  EXPECT_EQ(remove(two).status, 204);
  EXPECT_EQ(get("/v2/glossaries/../../etc/passwd").status, 404);
  EXPECT_EQ(remove("../kept/" + one).status, 404);
  const std::string before = get("/v2/glossaries").body;
  EXPECT_NE(error_message([&] { Glossaries(kept, {}); }).find("another server keeps its glossaries here"),
            std::string::npos);
  write_file_atomically(kept + "/notes.json", "mine");
  start({.glossaries = kept});
  EXPECT_EQ(get("/v2/glossaries").body, before);
  EXPECT_NE(with(one, "a b").find("h h"), std::string::npos);
  start();
  EXPECT_EQ(json(get("/v2/glossaries"))["glossaries"].size(), 0u);
  write_file_atomically(kept + "/" + one + ".json", "{\"name\": 1}");
  EXPECT_NE(error_message([&] { Glossaries(kept, {}); }).find(one + ".json"), std::string::npos);
  EXPECT_EQ(read_file(kept + "/notes.json"), "mine");
  EXPECT_NE(error_message([&] { Glossaries(en_de_, {}); }).find("give a new or empty folder"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(en_de_ + "/sixfold-glossaries"));
  EXPECT_NE(error_message([&] { Glossaries(kept + "/notes.json", {}); }).find("is a file, not a folder"),
            std::string::npos);
}

TEST_F(GlossariesTest, OurOwnInterfaceTakesConstraints) {
  const Json request{{"text", "a b c. d"}, {"model", "en-de"}};
  const auto text_with = [&](const Json& more) {
    Json all = request;
    all.update(more);
    return json(post("/v1/translate", all))["results"][0];
  };
  const auto text_of = [&](const Json& more) { return text_with(more)["text"].get<std::string>(); };
  EXPECT_TRUE(text_of({{"prefix", "g h"}}).starts_with("g h"));
  const std::string both = text_of({{"constraints", {"g g", "h"}}});
  EXPECT_TRUE(both.find("g g") != both.npos && both.find('h') != both.npos) << both;
  const std::string plain =
      json(post("/v1/translate",
                {{"text", "a b c. d"}, {"model", "en-de"}, {"split_sentences", false}}))["results"][0]["text"];
  EXPECT_NE(text_of({{"avoid", plain}}), plain);
  EXPECT_EQ(text_with({{"constraints", "\u6771"}})["sentences"][0]["translations"][0]["unmet"],
            Json::array({"\u6771"}));
  const auto refused = [&](const Json& more, const std::string& part) {
    Json all = request;
    all.update(more);
    expect_refused(post("/v1/translate", all), 400, part);
  };
  refused({{"prefix", "\u6771"}}, "the prefix '\u6771' has text");
  refused({{"prefix", "g"}, {"text", {"a", "b"}}}, "single text of one line");
  refused({{"prefix", "g"}, {"text", "a\nb"}}, "single text of one line");
  refused({{"prefix", "g"}, {"split_sentences", true}}, "leave out");
  refused({{"constraints", std::vector<std::string>(65, "a")}}, "at most 64");
  refused({{"constraints", "a b"}, {"avoid", "b"}}, "which the translation must not contain");
}

}  // namespace
}  // namespace sixfold::serve
