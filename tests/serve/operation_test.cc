// What those who run a server ask for.
#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "program/small_chat_model.h"
#include "program/small_embedder.h"
#include "serve/service_fixture.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

using OperationTest = ServiceFixture;

TEST_F(OperationTest, TellsItsVersionAndThatItIsReady) {
  EXPECT_EQ(json(get("/health")), (Json{{"status", "ok"}}));
  EXPECT_EQ(json(get("/ready")), (Json{{"status", "ready"}}));
  EXPECT_NE(json(get("/version"))["version"].get<std::string>().find('.'), std::string::npos);
}

TEST_F(OperationTest, IsAliveButNotReadyBeforeItHasModels) {
  EXPECT_EQ(answer_before_ready({.method = "GET", .path = "/health"}).status, 200);
  expect_refused(answer_before_ready({.method = "GET", .path = "/ready"}), 503,
                 "{\"error\":\"The server is loading");
  expect_refused(answer_before_ready({.method = "POST", .path = "/v2/translate"}), 503, "{\"message\":");
}

/// The route that answers a path of the description, such as /v2/glossaries/{id}/entries.
std::string route_of(std::string path) {
  const size_t brace = path.find('{');
  return brace == path.npos ? path : path.substr(0, brace) + "*";
}

/// The description has every address that the server answers, and no other.
TEST_F(OperationTest, TheDescriptionHasAllRoutes) {
  const Json paths = json(get("/spec"))["paths"];
  std::set<std::string> described, answered;
  for (const auto& [path, methods] : paths.items())
    for (const auto& [method, unused] : methods.items()) {
      std::string upper = method;
      for (char& c : upper) c = static_cast<char>(std::toupper(c));
      described.insert(upper + " " + route_of(path));
    }
  for (const Route& route : all_routes(*service_))
    if (route.path != "/" && route.path != "/page/*") answered.insert(route.method + " " + route.path);
  EXPECT_EQ(described, answered);
}

/// A field that the server does not know is refused by name: those of the description are not.
TEST_F(OperationTest, TheDescriptionNamesFieldsThatAreKnown) {
  write_small_embedder(folder_ / "vectors", 3);
  write_small_chat_model(folder_ / "chat", 3);
  start({}, {folder_ / "vectors", folder_ / "chat"});
  const Json spec = json(get("/spec"));
  const std::pair<std::string, Json> requests[] = {
      {"/v1/translate", {{"text", "a"}, {"model", "en-de"}}},
      {"/v2/translate", {{"text", "a"}, {"target_lang", "DE"}}},
      {"/v1/completions", {{"model", "text"}}},
      {"/v1/chat/completions", {{"model", "chat"}, {"messages", {{{"role", "user"}, {"content", "a"}}}}}},
      {"/v1/embeddings", {{"model", "vectors"}, {"input", "a"}}}};
  const Json& fields = spec["components"]["schemas"]["SixfoldTranslate"]["properties"];
  for (const char* name : {"sample", "temperature", "top_k", "top_p", "min_p", "seed", "mbr", "retry"})
    EXPECT_TRUE(fields.contains(name)) << name;
  for (const auto& [path, request] : requests) {
    const Json& content = spec["paths"][path]["post"]["requestBody"]["content"];
    const std::string schema = content["application/json"]["schema"]["$ref"];
    for (const auto& [name, unused] : spec.at(Json::json_pointer(schema.substr(1)))["properties"].items()) {
      Json changed = request;
      changed[name] = {{"of another", "type"}};
      const HttpAnswer answer = post(path, changed);
      EXPECT_EQ(answer.body.find("is not a field of " + path), std::string::npos) << path << " " << answer.body;
      EXPECT_EQ(answer.body.find("'" + name + "' is not supported"), std::string::npos) << answer.body;
    }
    Json changed = request;
    changed["unknown"] = 1;
    EXPECT_EQ(post(path, changed).status, 400) << path;
  }
}

/// Checks that a schema has all fields of an answer, and of the objects in it.
void expect_described(const Json& spec, const Json& schema, const Json& answer, const std::string& place) {
  if (schema.contains("$ref"))
    return expect_described(spec, spec.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))),
                            answer, place);
  if (answer.is_array())
    for (const Json& item : answer) {
      ASSERT_TRUE(schema.contains("items")) << place;
      expect_described(spec, schema["items"], item, place + "[]");
    }
  if (!answer.is_object() || !schema.contains("properties")) return;
  for (const auto& [name, value] : answer.items()) {
    ASSERT_TRUE(schema["properties"].contains(name)) << place << "." << name;
    expect_described(spec, schema["properties"][name], value, place + "." + name);
  }
}

TEST_F(OperationTest, TheDescriptionHasTheFieldsOfAnswers) {
  const Json spec = json(get("/spec"));
  const auto schema_of = [&](const char* path, const char* method) {
    return spec["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"];
  };
  Json request{{"text", "a b"}, {"model", "en-de"}, {"n_best", 2}};
  for (const char* name : {"tokens", "alignment", "attention", "all_attention", "search"}) request[name] = true;
  expect_described(spec, schema_of("/v1/translate", "post"), json(post("/v1/translate", request)), "answer");
  expect_described(spec, schema_of("/v1/models", "get"), json(get("/v1/models")), "models");
}

}  // namespace
}  // namespace sixfold::serve
