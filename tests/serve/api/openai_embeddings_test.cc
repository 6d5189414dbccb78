#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/base64.h"
#include "program/small_embedder.h"
#include "serve/api/openai.h"
#include "serve/service_fixture.h"
#include "tasks/embedding/routes/served.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

class EmbeddingsTest : public ServiceFixture {
 protected:
  EmbeddingsTest() {
    write_small_embedder(folder_ / "vectors", 3);
    start({}, {folder_ / "vectors"});
  }
  HttpAnswer ask_for(Json request) const {
    request.emplace("model", "vectors");
    return post("/v1/embeddings", request);
  }
  std::vector<TextEmbedding> expected(const std::vector<std::string>& texts) const {
    return as<ServedEmbedder>(service_->models().find("vectors"))->predictor().embed(texts);
  }
};

TEST_F(EmbeddingsTest, EmbedsTexts) {
  const std::vector<std::string> texts{"a b", "", "c"};
  const Json answer = json(ask_for({{"input", texts}}));
  EXPECT_EQ(answer["object"], "list");
  EXPECT_EQ(answer["model"], "vectors");
  EXPECT_EQ(answer["usage"], (Json{{"prompt_tokens", 4 + 2 + 3}, {"total_tokens", 9}}));
  const auto embeddings = expected(texts);
  ASSERT_EQ(answer["data"].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answer["data"][i]["object"], "embedding");
    EXPECT_EQ(answer["data"][i]["index"], i);
    EXPECT_EQ(answer["data"][i]["embedding"].get<std::vector<float>>(), embeddings[i].values);
  }
  const Json one = json(ask_for({{"input", "a b"}, {"encoding_format", "float"}, {"user", "somebody"}}));
  ASSERT_EQ(one["data"].size(), 1u);
  EXPECT_EQ(one["data"][0]["embedding"], answer["data"][0]["embedding"]);
}

/// As OpenAI's client asks for them: numbers of 32 bits in little endian.
TEST_F(EmbeddingsTest, WritesBase64) {
  const Json answer = json(ask_for({{"input", {"a b"}}, {"encoding_format", "base64"}, {"dimensions", 8}}));
  const auto bytes = from_base64(answer["data"][0]["embedding"].get<std::string>());
  ASSERT_TRUE(bytes);
  std::vector<float> values(bytes->size() / sizeof(float));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  EXPECT_EQ(values, expected({"a b"})[0].values);
}

TEST_F(EmbeddingsTest, RefusesWhatItCanNotEmbed) {
  const auto refused = [&](const Json& request, int status, const std::string& part) {
    const HttpAnswer answer = ask_for(request);
    expect_refused(answer, status, part);
    EXPECT_EQ(Json::parse(answer.body)["error"]["code"], status);
  };
  refused({{"input", "a"}, {"model", "en-de"}}, 400, "its task is translation");
  refused({{"input", "a"}, {"model", "none"}}, 404, "no model named none");
  refused(Json::object(), 400, "no \\\"input\\\"");
  refused({{"input", Json::array()}}, 400, "\\\"input\\\" is an empty list");
  refused({{"input", {1, 2}}}, 400, "numbers of tokens");
  refused({{"input", Json{{1, 2}}}}, 400, "numbers of tokens");
  refused({{"input", {"a", 1}}}, 400, "\\\"input\\\" must be a text");
  refused({{"input", Json::array({nullptr})}}, 400, "\\\"input\\\" must be a text");
  refused({{"input", Json::array({Json::array({"a"})})}}, 400, "\\\"input\\\" must be a text");
  refused({{"input", 1}}, 400, "\\\"input\\\" must be a text");
  refused({{"input", {"a", std::string("a\0b", 3)}}}, 400, "\\\"input\\\" must be text, which has no NUL");
  refused({{"input", "a"}, {"dimensions", 4}}, 400,
          "\\\"dimensions\\\" is not supported; embeddings of this model have 8");
  refused({{"input", "a"}, {"encoding_format", "int8"}}, 400, "one of: float, base64");
  refused({{"input", "a"}, {"truncate", true}}, 400, "\\\"truncate\\\" is not a field of /v1/embeddings");
  expect_refused(post("/v1/completions", {{"model", "vectors"}, {"prompt", "a"}}), 400,
                 "its task is embedding");
}

TEST_F(EmbeddingsTest, HasTheLimitsOfOtherRoutes) {
  start({.max_texts = 2, .max_text_bytes = 10, .max_waiting_bytes = 5}, {folder_ / "vectors"});
  expect_refused(ask_for({{"input", {"a", "b", "c"}}}), 400, "a list of at most 2 texts");
  expect_refused(ask_for({{"input", std::string(11, 'a')}}), 413, "11 bytes; at most 10");
  expect_refused(ask_for({{"input", "a b c d"}}), 503, "Too many texts wait");
  EXPECT_EQ(ask_for({{"input", "a b"}}).status, 200);
  std::stop_source stop;
  stop.request_stop();
  expect_refused(ask({.method = "POST",
                      .path = "/v1/embeddings",
                      .headers = {{"content-type", "application/json"}},
                      .body = Json{{"model", "vectors"}, {"input", "a"}}.dump(),
                      .cancel = stop.get_token()}),
                 503, "took longer than request_seconds allows");
}

TEST_F(EmbeddingsTest, CountsTextsThatAreCut) {
  json(ask_for({{"input", {"a b c d e f g", "a", "a b c d e f g h"}}}));
  EXPECT_NE(get("/metrics").body.find("sixfold:sentences_cut_total{model_name=\"vectors\"} 2"),
            std::string::npos);
}

TEST_F(EmbeddingsTest, ADamagedModelIsTheServersFault) {
  damage_weights(folder_ / "vectors");
  start({}, {folder_ / "vectors"});
  expect_refused(ask_for({{"input", "a"}}), 500, "not finite");
}

TEST_F(EmbeddingsTest, AreListedAmongTheModels) {
  const Json model = json(get("/v1/models/vectors"));
  EXPECT_EQ(model["kind"], "embedding");
  EXPECT_EQ(model["architecture"]["d_model"], 8);
  EXPECT_EQ(model["architecture"]["context_tokens"], 6);
}

}  // namespace
}  // namespace sixfold::serve
