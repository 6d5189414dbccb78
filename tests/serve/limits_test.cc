// What a request may ask for.
#include <chrono>

#include "base/error.h"
#include "error_message.h"
#include "serve/service_fixture.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

using LimitsTest = ServiceFixture;

constexpr const char* form = "application/x-www-form-urlencoded";

TEST_F(LimitsTest, ConstraintsAreBoundedAndCountAsTexts) {
  const auto with = [&](const Json& more) {
    Json all{{"text", "a b"}, {"model", "en-de"}};
    all.update(more);
    return post("/v1/translate", all);
  };
  std::string prefix;
  while (prefix.size() < 5000) prefix += "g ";
  expect_refused(with({{"prefix", prefix}}), 413, "have 5000 bytes together; at most 4096");
  expect_refused(with({{"constraints", {prefix, "a"}}}), 413, "have 5001 bytes together");
  expect_refused(with({{"avoid", std::vector<std::string>(64, std::string(100, 'x'))}}), 413, "6400 bytes");
  const HttpAnswer long_one = with({{"prefix", prefix.substr(0, 3000)}});  // more tokens than are read
  expect_refused(long_one, 400, "has 1500 tokens; at most 1024");
  EXPECT_LT(long_one.body.size(), 300u);
  EXPECT_EQ(with({{"prefix", "g h"}, {"constraints", "a"}}).status, 200);
  start({.max_text_bytes = 10});
  EXPECT_EQ(with({{"prefix", "g h"}}).status, 200);
  expect_refused(with({{"prefix", "g h g h g"}}), 413, "The texts have 12 bytes; at most 10");
  start({.max_waiting_bytes = 10});
  expect_refused(with({{"prefix", "g h g h g"}}), 503, "Too many texts wait");
}

TEST_F(LimitsTest, BodiesHaveFewValuesAndFields) {
  std::string many = R"({"q":[)";
  for (int i = 0; i < 100'000; ++i) many += "0,";
  expect_refused(post_text("/translate", many + "0]}"), 400,
                 "{\"error\":\"The body: JSON has more than 100000 values.\"}");
  std::string fields = "q=a&source=en&target=de";
  for (int i = 0; i < 4093; ++i) fields += "&a";
  EXPECT_EQ(post_text("/translate", fields, form).status, 200);
  expect_refused(post_text("/translate", fields + "&a", form), 400, "4096 fields at most");
}

TEST_F(LimitsTest, CompletionsAreBoundedTogetherAndWaitAsTextsDo) {
  const auto complete = [&](const Json& more = Json::object()) {
    Json all{{"model", "text"}, {"prompt", "a"}, {"max_tokens", 2}};
    all.update(more);
    return post("/v1/completions", all);
  };
  start({.max_new_tokens = 5});
  Json without{{"model", "text"}, {"prompt", "a"}};
  EXPECT_LE(json(post("/v1/completions", without))["usage"]["completion_tokens"], 5);
  start({.max_tokens_of_request = 8192});
  EXPECT_EQ(complete().status, 200);
  expect_refused(complete({{"prompt", {"a", "b", "c"}}, {"n", 1}, {"max_tokens", 4096}}), 400,
                 "ask for 3 texts with 12288 tokens in all, and 0 more beside each; all together may be 8192");
  expect_refused(complete({{"n", 3}, {"max_tokens", 4096}}), 400, "3 texts with 12288 tokens");
  // An answer has the likeliest tokens too, and the tokens of prompts.
  expect_refused(complete({{"max_tokens", 4096}, {"logprobs", 5}}), 400, "5 more beside each");
  const Json many(std::vector<std::string>(1000, "a b c"));
  expect_refused(complete({{"prompt", many}, {"logprobs", 1}, {"echo", true}}), 400,
                 "1000 texts with 7000 tokens");
  start({.max_waiting_bytes = 3});
  expect_refused(complete({{"prompt", "a b c"}}), 503, "Too many texts wait");
  HttpAnswer stream = complete({{"prompt", "a b"}, {"stream", true}});
  EXPECT_EQ(stream.status, 200);
  expect_refused(complete(), 503, "Too many texts wait");
  stream = {};
  EXPECT_EQ(complete().status, 200) << "the stream has ended";
}

/// A text of blank lines costs next to nothing.
TEST_F(LimitsTest, BlankLinesStayAsTheyAre) {
  const ServedPair pair = required_pair(*service_, "en", "de");
  std::string blank;
  for (int i = 0; i < 100'000; ++i) blank += i % 2 == 0 ? "\n" : " \r\n";
  const auto begun = std::chrono::steady_clock::now();
  const auto result = translate_texts(pair, std::vector{"a b" + ("\n" + blank) + "c d\n" + blank, blank}, {});
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  EXPECT_EQ(result[0].text, translated("a b") + "\n" + blank + translated("c d") + "\n" + blank);
  EXPECT_EQ(result[0].sentences.size(), 2u);
  EXPECT_EQ(result[1].text, blank);
}

/// Finding the sentences of this text takes seconds.
TEST_F(LimitsTest, CancelledTextsAreNotSplit) {
  const ServedPair pair = required_pair(*service_, "en", "de");
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += "a\n";
  std::stop_source stop;
  stop.request_stop();
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_THROW(translate_texts(pair, std::vector{text, text}, {.translation = {.cancel = stop.get_token()}}),
               Cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(2));
  const std::vector<std::string> documents{"<p>a</p>"};
  EXPECT_THROW(
      translate_texts(pair, documents, {.kind = TextKind::html, .translation = {.cancel = stop.get_token()}}),
      Cancelled);
}

}  // namespace
}  // namespace sixfold::serve
