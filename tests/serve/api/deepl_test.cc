#include "serve/api/deepl.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "serve/service_fixture.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

using ServiceTest = ServiceFixture;

TEST_F(ServiceTest, TranslatesAsDeeplDoes) {
  const Json request{{"text", {"a b c", "D e"}}, {"target_lang", "DE"}, {"source_lang", "EN"}};
  const Json translations = json(post("/v2/translate", request))["translations"];
  ASSERT_EQ(translations.size(), 2u);
  EXPECT_EQ(translations[0], (Json{{"detected_source_language", "EN"}, {"text", translated("a b c")}}));
  EXPECT_EQ(translations[1]["text"], translated("D e"));
  const auto form = "application/x-www-form-urlencoded";
  EXPECT_EQ(json(post_text("/v2/translate", "text=a+b+c&text=D+e&target_lang=DE&source_lang=en-GB", form)),
            (Json{{"translations", translations}}))
      << "English, since no model has a region";
  Json whole = request;
  whole["text"] = "a b c. D\ne";
  EXPECT_EQ(json(post("/v2/translate", whole))["translations"][0]["text"],
            translated("a b c.") + " " + translated("D") + "\n" + translated("e"));
  whole["split_sentences"] = "nonewlines";
  EXPECT_EQ(json(post("/v2/translate", whole))["translations"][0]["text"],
            translated("a b c.") + " " + translated("D e"));
  whole["split_sentences"] = "0";
  EXPECT_EQ(json(post("/v2/translate", whole))["translations"][0]["text"], translated("a b c. D e"));
  EXPECT_EQ(json(get("/v2/languages")),
            (Json{{{"language", "EN"}, {"name", "English"}}, {{"language", "DE"}, {"name", "German"}}}));
  EXPECT_EQ(json(get("/v2/usage"))["character_count"], 2 * 8 + 3 * 10);
}

TEST_F(ServiceTest, SaysWhichTypeOfModelWasUsed) {
  const auto used = [&](const char* type) {
    return json(post(
        "/v2/translate",
        {{"text", {"a"}}, {"target_lang", "DE"}, {"model_type", type}}))["translations"][0]["model_type_used"];
  };
  EXPECT_EQ(used("quality_optimized"), "quality_optimized");
  EXPECT_EQ(used("prefer_quality_optimized"), "quality_optimized");
  EXPECT_EQ(used("latency_optimized"), "latency_optimized");
}

TEST_F(ServiceTest, TranslatesTheTextOfAnAddressAsDeepl) {
  const HttpAnswer answer =
      ask({.method = "GET",
           .path = "/v2/translate",
           .query = {{"text", "a b c"}, {"text", "d"}, {"source_lang", "EN"}, {"target_lang", "DE"}}});
  EXPECT_EQ(json(answer)["translations"][1]["text"], translated("d"));
  EXPECT_EQ(json(answer)["translations"][0]["text"], translated("a b c"));
}

TEST_F(ServiceTest, RefusesWhatItCantDoAsDeepl) {
  const auto refused = [&](const char* key, const Json& value, const std::string& part) {
    Json request{{"text", "a"}, {"target_lang", "DE"}};
    request[key] = value;
    const HttpAnswer answer = post("/v2/translate", request);
    expect_refused(answer, 400, part);
    EXPECT_TRUE(Json::parse(answer.body)["message"].is_string());
  };
  refused("target_lang", "FR", "Value for 'target_lang' not supported: FR. This server has: DE, EN");
  refused("formality", "more", "formality");
  refused("glossary_id", "1", "'glossary_id' needs 'source_lang'");
  refused("style_id", "1", "Parameter 'style_id' is not supported");
  refused("no_such", 1, "Parameter 'no_such' is not supported");
  refused("split_sentences", "2", "split_sentences");
  refused("model_type", "best", "model_type");
  for (const char* path : {"/v2/document/1", "/v3/glossaries", "/v3/voice/realtime"})
    expect_refused(get(path), 404, "{\"message\":\"This server has no " + std::string(path));
  expect_refused(ask({.method = "DELETE", .path = "/v3/glossaries/1"}), 404,
                 "{\"message\":\"This server has no /v3");
}

}  // namespace
}  // namespace sixfold::serve
