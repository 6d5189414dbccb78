#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "program/small_chat_model.h"
#include "serve/api/openai.h"
#include "serve/service_fixture.h"
#include "tasks/language_model/conversation.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

class ChatCompletions : public ServiceFixture {
 protected:
  ChatCompletions() {
    write_small_chat_model(chat_, 4);
    start({}, {chat_});
  }
  Json request(const Json& more = Json::object()) const {
    Json all{{"model", "chat"},
             {"messages", {{{"role", "user"}, {"content", "the old dog"}}}},
             {"max_tokens", 8},
             {"seed", 7}};
    all.update(more);
    return all;
  }
  HttpAnswer ask_chat(const Json& body) const { return post("/v1/chat/completions", body); }
  void refused(const Json& more, const std::string& part) const {
    expect_refused(ask_chat(request(more)), 400, part);
  }
  static std::vector<Json> events_of(const HttpAnswer& answer) {
    EXPECT_EQ(answer.content_type, "text/event-stream");
    std::string all;
    answer.parts([&](std::string_view part) {
      all += part;
      return true;
    });
    EXPECT_TRUE(all.ends_with("data: [DONE]\n\n")) << all;
    std::vector<Json> events;
    for (size_t begin = 0; (begin = all.find("data: {", begin)) != std::string::npos; ++begin)
      events.push_back(Json::parse(all.substr(begin + 6, all.find("\n\n", begin) - begin - 6)));
    return events;
  }
  const std::string chat_ = folder_ / "chat";
};

TEST_F(ChatCompletions, AnswerMessages) {
  const Json answer = json(ask_chat(request({{"n", 2}})));
  EXPECT_EQ(answer["object"], "chat.completion");
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("chatcmpl-"));
  ASSERT_EQ(answer["choices"].size(), 2u);
  const Generator generator(chat_, {.threads = 1});
  const Prompt prompt = generator.chat_prompt(std::vector<ChatMessage>{{"user", "the old dog"}});
  const auto texts =
      generator.generate(std::span(&prompt, 1), {.max_tokens = 8, .samples = 2, .seed = 7, .chat = true});
  for (size_t i = 0; i < 2; ++i) {
    const Json& choice = answer["choices"][i];
    EXPECT_EQ(choice["index"], i);
    EXPECT_EQ(choice["message"]["role"], "assistant");
    EXPECT_EQ(choice["message"]["content"], texts[0].texts[i].text);
    EXPECT_TRUE(choice["logprobs"].is_null());
    EXPECT_FALSE(choice.contains("delta"));
    EXPECT_EQ(choice["finish_reason"], openai_reason(texts[0].texts[i].reason));
  }
  EXPECT_EQ(answer["usage"]["prompt_tokens"], prompt.ids->size());
  Json other = request({{"n", 2}, {"max_completion_tokens", 8}});
  other.erase("max_tokens");
  EXPECT_EQ(json(ask_chat(other))["choices"], answer["choices"]);
  other["messages"][0]["content"] = {{{"type", "text"}, {"text", "the old "}},
                                     {{"type", "text"}, {"text", "dog"}}};
  EXPECT_EQ(json(ask_chat(other))["choices"], answer["choices"]);
}

TEST_F(ChatCompletions, AreStreamed) {
  const Json whole = json(ask_chat(request({{"n", 2}, {"logprobs", true}, {"top_logprobs", 2}})));
  const std::vector<Json> events =
      events_of(ask_chat(request({{"n", 2},
                                  {"logprobs", true},
                                  {"top_logprobs", 2},
                                  {"stream", true},
                                  {"stream_options", {{"include_usage", true}}}})));
  std::vector<std::string> texts(2), reasons(2);
  std::vector<Json> tokens(2, Json::array());
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(events[i]["choices"][0]["delta"]["role"], "assistant");
    EXPECT_EQ(events[i]["choices"][0]["index"], i);
  }
  for (const Json& event : events) {
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    if (event["choices"].empty()) continue;
    const Json& choice = event["choices"][0];
    const auto index = choice["index"].get<size_t>();
    EXPECT_EQ(reasons[index], "") << "nothing comes after the reason";
    texts[index] += choice["delta"].value("content", "");
    if (choice["finish_reason"].is_string()) reasons[index] = choice["finish_reason"];
    if (choice["logprobs"].is_null()) continue;
    const Json& some = choice["logprobs"]["content"];
    tokens[index].insert(tokens[index].end(), some.begin(), some.end());
  }
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(texts[i], whole["choices"][i]["message"]["content"]);
    EXPECT_EQ(reasons[i], whole["choices"][i]["finish_reason"]);
    EXPECT_EQ(tokens[i], whole["choices"][i]["logprobs"]["content"]);
  }
  EXPECT_EQ(events.back()["usage"], whole["usage"]);
}

TEST_F(ChatCompletions, TellLogProbabilities) {
  const Json choice = json(ask_chat(request({{"logprobs", true}, {"top_logprobs", 3}})))["choices"][0];
  const Json& content = choice["logprobs"]["content"];
  ASSERT_GT(content.size(), 0u);
  size_t named = 0;  // tokens without text of their own
  for (const Json& token : content) {
    EXPECT_EQ(token["top_logprobs"].size(), 3u);
    EXPECT_LE(token["logprob"], 0);
    EXPECT_GE(token["top_logprobs"][0]["logprob"], token["top_logprobs"][1]["logprob"]);
    named += token["bytes"].is_null();
    if (token["bytes"].is_null()) continue;
    std::string bytes;
    for (const Json& byte : token["bytes"]) bytes += static_cast<char>(byte.get<int>());
    EXPECT_EQ(bytes, token["token"]);
  }
  EXPECT_LT(named, content.size());
  const Json none = json(ask_chat(request({{"logprobs", true}})))["choices"][0]["logprobs"];
  EXPECT_TRUE(none["content"][0]["top_logprobs"].empty());
}

TEST_F(ChatCompletions, AreRefusedByName) {
  refused({{"messages", nullptr}}, "has no \\\"messages\\\"");
  refused({{"messages", Json::array()}}, "must end with a message of the user");
  refused({{"messages", {{{"role", "tool"}, {"content", "a"}}}}}, "message 1: its role is 'tool'; it must be");
  refused({{"messages", {{{"role", "user"}}}}}, "message 1 has no \\\"content\\\"");
  refused({{"max_completion_tokens", 3}}, "are the same; send one");
  refused({{"top_logprobs", 2}}, "\\\"top_logprobs\\\" needs \\\"logprobs\\\"");
  refused({{"logprobs", true}, {"top_logprobs", 21}}, "from 0 to 20");
  refused({{"tools", Json::array()}}, "\\\"tools\\\" is not supported");
  refused({{"response_format", {{"type", "json_object"}}}}, "\\\"response_format\\\" may be");
  refused({{"prompt", "a"}}, "\\\"prompt\\\" is not a field of /v1/chat/completions");
  refused({{"presence_penalty", 1}}, "\\\"presence_penalty\\\" is not supported");
  refused({{"n", 1000}}, "\\\"n\\\"");
  refused({{"stream_options", {{"include_usage", true}}}}, "needs \\\"stream\\\"");
  refused({{"model", "text"}}, "The model text has no chat format");
  refused({{"model", "en-de"}}, "does not continue texts");
  refused({{"messages", {{{"role", "user"}, {"content", std::string(3000, 'a')}}}}},
          "tokens, but the model reads");
  expect_refused(ask_chat(request({{"model", "none"}})), 404, "no model named none");
  json(ask_chat(request({{"user", "me"}, {"store", false}, {"response_format", {{"type", "text"}}}})));
}

/// Without a number in the request, that of the model counts.
TEST_F(ChatCompletions, EndAsTheModelSays) {
  write_small_chat_model(folder_ / "short", 4,
                         [](ModelConfig& config) { config.generation.max_new_tokens = 3; });
  start({}, {folder_ / "short"});
  Json all = request({{"model", "short"}, {"temperature", 0}});
  all.erase("max_tokens");
  EXPECT_LE(json(ask_chat(all))["usage"]["completion_tokens"], 3);
}

}  // namespace
}  // namespace sixfold::serve
