#include "serve/api/openai.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "serve/service_fixture.h"
#include "text/tokenizers.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

using ServiceTest = ServiceFixture;

/// The pieces of an event stream.
std::vector<Json> events_of(const HttpAnswer& answer) {
  std::string all;
  answer.parts([&](std::string_view part) {
    all += part;
    return true;
  });
  std::vector<Json> events;
  EXPECT_TRUE(all.ends_with("data: [DONE]\n\n")) << all;
  for (size_t begin = 0; (begin = all.find("data: {", begin)) != std::string::npos; ++begin)
    events.push_back(Json::parse(all.substr(begin + 6, all.find("\n\n", begin) - begin - 6)));
  return events;
}

TEST_F(ServiceTest, CompletesTexts) {
  const Json request{{"model", "text"}, {"prompt", {"a b", "c"}}, {"max_tokens", 6}, {"seed", 7}, {"n", 2}};
  const Json answer = json(post("/v1/completions", request));
  EXPECT_EQ(answer["object"], "text_completion");
  ASSERT_EQ(answer["choices"].size(), 4u);
  EXPECT_EQ(json(post("/v1/completions", request))["choices"], answer["choices"]) << "the same seed";
  GenerateOptions options;
  options.max_tokens = 6, options.seed = 7, options.samples = 2;
  const auto texts = as<ServedLanguageModel>(service_->models().find("text"))
                         ->predictor()
                         .generate(std::vector<std::string>{"a b", "c"}, options);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(answer["choices"][i]["text"], texts[i / 2].texts[i % 2].text);
    EXPECT_EQ(answer["choices"][i]["index"], i);
  }
  EXPECT_EQ(answer["usage"]["total_tokens"],
            answer["usage"]["prompt_tokens"].get<int>() + answer["usage"]["completion_tokens"].get<int>());
  Json streamed = request;
  streamed["stream"] = true;
  std::vector<std::string> pieces(4);
  const HttpAnswer stream = post("/v1/completions", streamed);
  EXPECT_EQ(stream.content_type, "text/event-stream");
  for (const Json& event : events_of(stream))
    pieces[event["choices"][0]["index"].get<size_t>()] += event["choices"][0]["text"].get<std::string>();
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(pieces[i], answer["choices"][i]["text"]);
  streamed["stream_options"] = {{"include_usage", true}};
  const std::vector<Json> events = events_of(post("/v1/completions", streamed));
  EXPECT_EQ(events.back()["usage"], answer["usage"]);
  EXPECT_TRUE(events.back()["choices"].empty());
  EXPECT_TRUE(events.front()["usage"].is_null());
}

/// What is wrong is known before anything of a stream is sent, so that the client gets a status.
TEST_F(ServiceTest, StreamsAreRefusedBeforeTheyBegin) {
  const auto refused = [&](Json request, const std::string& part) {
    request.update({{"model", "text"}, {"stream", true}});
    expect_refused(post("/v1/completions", request), 400, part);
  };
  refused({{"prompt", {"a", std::string(30, 'a')}}}, "Prompt 2: the prompt has 30 tokens");
  refused({{"prompt", "a"}, {"stop", {""}}}, "a stop string is empty");
  refused({{"prompt", "a"}, {"stream_options", 1}}, "\\\"stream_options\\\" must be an object");
  refused({{"prompt", "a"}, {"stream_options", {{"usage", true}}}}, "\\\"usage\\\" is not an option");
  std::stop_source stop;
  stop.request_stop();
  const Json request{{"model", "text"}, {"prompt", "a"}, {"stream", true}};
  expect_refused(ask({.method = "POST",
                      .path = "/v1/completions",
                      .headers = {{"content-type", "application/json"}},
                      .body = request.dump(),
                      .cancel = stop.get_token()}),
                 503, "took longer than request_seconds allows");
}

class CompletionsTest : public ServiceTest {
 protected:
  /// Those of all pieces of the same completion as a stream.
  Json streamed_log_probs(Json request) {
    request["stream"] = true;
    Json together{{"tokens", Json::array()},
                  {"token_logprobs", Json::array()},
                  {"top_logprobs", Json::array()},
                  {"text_offset", Json::array()}};
    for (const Json& event : events_of(post("/v1/completions", request))) {
      const Json& part = event["choices"][0]["logprobs"];
      if (part.is_null()) continue;
      for (auto& [name, list] : together.items()) list.insert(list.end(), part[name].begin(), part[name].end());
    }
    return together;
  }
};

/// As OpenAI's: lists of the same length, for the whole text or for each piece of a stream.
TEST_F(CompletionsTest, TellsLogProbabilities) {
  Json request{{"model", "text"}, {"prompt", "a b"}, {"max_tokens", 6}, {"seed", 7}, {"logprobs", 2}};
  const Json choice = json(post("/v1/completions", request))["choices"][0], whole = choice["logprobs"];
  ASSERT_EQ(whole["tokens"].size(), 6u);
  std::string joined;
  for (const Json& token : whole["tokens"]) joined += token.get<std::string>();
  EXPECT_EQ(joined, choice["text"]);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_LE(whole["token_logprobs"][i], 0);
    EXPECT_EQ(whole["top_logprobs"][i].size(), 2u);
    EXPECT_EQ(whole["text_offset"][i], i);
  }
  EXPECT_EQ(streamed_log_probs(request), whole);
  request["logprobs"] = 0;
  const Json none = json(post("/v1/completions", request))["choices"][0]["logprobs"];
  EXPECT_EQ(none["tokens"], whole["tokens"]);
  EXPECT_TRUE(none["top_logprobs"].is_null());
  request.erase("logprobs");
  EXPECT_TRUE(json(post("/v1/completions", request))["choices"][0]["logprobs"].is_null());
}

/// What evaluation harnesses ask for: the log-probabilities of a prompt, given as a text or as its tokens.
TEST_F(CompletionsTest, TellsLogProbabilitiesOfPrompts) {
  Json request{{"model", "text"}, {"prompt", "a b"}, {"max_tokens", 1}, {"temperature", 0},
               {"seed", 7},       {"logprobs", 1},   {"echo", true}};
  const Json answer = json(post("/v1/completions", request));
  const Json choice = answer["choices"][0], log_probs = choice["logprobs"];
  ASSERT_EQ(log_probs["tokens"].size(), 4u);
  EXPECT_EQ(answer["usage"]["total_tokens"], 4);
  std::string joined;
  for (const Json& token : log_probs["tokens"]) joined += token.get<std::string>();
  EXPECT_EQ(joined, choice["text"]);
  EXPECT_EQ(joined.substr(0, 3), "a b");
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(log_probs["text_offset"][i], i);
  request["max_tokens"] = 0;
  const Json alone = json(post("/v1/completions", request))["choices"][0];
  EXPECT_EQ(alone["text"], "a b");
  EXPECT_EQ(alone["logprobs"]["tokens"].size(), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(alone["logprobs"]["token_logprobs"][i], log_probs["token_logprobs"][i]);
  EXPECT_EQ(streamed_log_probs(request), alone["logprobs"]);
  // Also where a stop string leaves nothing of the text.
  request["max_tokens"] = 1;
  EXPECT_EQ(streamed_log_probs(request), log_probs);
  request["stop"] = choice["text"].get<std::string>().substr(3);
  const Json stopped = json(post("/v1/completions", request))["choices"][0];
  EXPECT_EQ(stopped["text"], "a b");
  EXPECT_EQ(stopped["logprobs"], alone["logprobs"]);
  EXPECT_EQ(streamed_log_probs(request), stopped["logprobs"]);
}

TEST_F(ServiceTest, TakesPromptsAsTokens) {
  const auto tokenizer = load_tokenizers(folder_ / "text").target;
  const std::vector<int32_t> ids = tokenizer->encode_text("a b");
  const auto completed = [&](const Json& prompt) {
    const Json request{{"model", "text"}, {"prompt", prompt}, {"max_tokens", 5}, {"seed", 3}, {"echo", true}};
    return json(post("/v1/completions", request))["choices"];
  };
  EXPECT_EQ(completed(ids), completed("a b"));
  EXPECT_EQ(completed(Json{ids, ids}), completed({"a b", "a b"}));
  const auto refused = [&](const Json& prompt, const std::string& part) {
    expect_refused(post("/v1/completions", {{"model", "text"}, {"prompt", prompt}}), 400, part);
  };
  refused({1, 4000}, "the token 4000");
  refused({1, -1}, "numbers of tokens");
  refused({1, 1.5}, "numbers of tokens");
  refused({{1}, 2}, "list");
  refused({1, "a"}, "numbers of tokens");
  refused({true}, "must be a text or a list of texts");
}

TEST_F(ServiceTest, RefusesCompletionsThatItCantMake) {
  const auto refused = [&](Json request, int status, const std::string& part) {
    request.emplace("model", "text");
    const HttpAnswer answer = post("/v1/completions", request);
    expect_refused(answer, status, part);
    EXPECT_TRUE(Json::parse(answer.body)["error"]["message"].is_string());
    EXPECT_EQ(Json::parse(answer.body)["error"]["code"], answer.status);
  };
  refused({{"model", "en-de"}}, 400, "its task is translation");
  refused({{"model", "none"}}, 404, "no model named none");
  refused({{"prompt", "a"}, {"logprobs", 6}}, 400, "logprobs");
  refused({{"prompt", "a"}, {"presence_penalty", 1}}, 400, "presence_penalty");
  refused({{"prompt", "a"}, {"max_tokens", 0}}, 400, "max_tokens");
  refused({{"prompt", "a"}, {"n", 2}, {"best_of", 3}}, 400, "best_of");
  refused({{"prompt", "a"}, {"stream_options", Json::object()}}, 400, "needs \\\"stream\\\"");
  refused({{"prompt", "a"}, {"n", 17}}, 400, "\\\"n\\\": expected a whole number from 1 to 16, found '17'");
  refused({{"prompt", std::string(30, 'a')}}, 400, "Prompt 1");
  refused({{"prompt", 1}}, 400, "\\\"prompt\\\" must be a text");
  refused({{"prompt", Json::array()}}, 400, "\\\"prompt\\\" is an empty list");
  refused({{"prompt", "a"}, {"logit_bias", {{"5", 1}}}}, 400, "\\\"logit_bias\\\" is not supported");
  refused({{"prompt", "a"}, {"logit_bias", 5}}, 400, "logit_bias");
  refused({{"prompt", "a"}, {"max_tokens", 2.5}}, 400, "\\\"max_tokens\\\": expected a whole number");
  refused({{"prompt", "a"}, {"top_k", {1, 2}}}, 400, "\\\"top_k\\\": expected a whole number, found a list");
  refused({{"prompt", "a"}, {"temperature", "warm"}}, 400, "\\\"temperature\\\": expected a number, found");
  refused({{"prompt", "a"}, {"max_tokens", 2}, {"min_tokens", 3}}, 400, "min_tokens is 3");
  refused({{"prompt", "a"}, {"beam_size", 2}}, 400, "\\\"beam_size\\\" is not a field of /v1/completions");
}

/// A whole number may have a point, and a number may be a text, as clients of several languages send them.
TEST_F(ServiceTest, TakesNumbersOfCompletionsInSeveralForms) {
  const auto completed = [&](const Json& tokens, const Json& temperature) {
    const Json request{{"model", "text"}, {"max_tokens", tokens}, {"temperature", temperature}, {"seed", 1}};
    return json(post("/v1/completions", request))["choices"];
  };
  EXPECT_EQ(completed(12.0, 0.5), completed(12, 0.5));
  EXPECT_EQ(completed("12", "0.5"), completed(12, 0.5));
  json(post("/v1/completions", {{"model", "text"}, {"n", 2.0}, {"best_of", 2.0}}));
  expect_refused(post("/v1/completions", {{"model", "text"}, {"seed", 9007199254740993}}), 400, "\\\"seed\\\"");
  EXPECT_EQ(completed(nullptr, nullptr), completed(16, 1));
}

/// Clients send fields with the values that change nothing.
TEST_F(ServiceTest, TakesCompletionsWithoutBiasesOfTokens) {
  Json request{{"model", "text"}, {"prompt", "a"}, {"seed", 1}, {"logit_bias", Json::object()}};
  EXPECT_EQ(post("/v1/completions", request).status, 200);
  request["logit_bias"] = nullptr;
  EXPECT_EQ(post("/v1/completions", request).status, 200);
}

/// A stream is counted when it has been sent.
TEST_F(ServiceTest, CountsStreams) {
  const auto count = [&](const std::string& line) {
    return get("/metrics").body.find("\n" + line + "\n") != std::string::npos;
  };
  const HttpAnswer stream = post("/v1/completions", {{"model", "text"}, {"prompt", "a"}, {"stream", true}});
  const std::string answered = "sixfold:http_requests_total{endpoint=\"/v1/completions\",status=\"200\"} 1";
  EXPECT_FALSE(count(answered));
  EXPECT_TRUE(count("sixfold:num_requests_in_flight 2"));  // with the one for the metrics
  EXPECT_FALSE(events_of(stream).empty());
  EXPECT_TRUE(count(answered));
}

}  // namespace
}  // namespace sixfold::serve
