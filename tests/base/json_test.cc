#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.h"

namespace sixfold {
namespace {

std::string message_for(const std::string& text) {
  return error_message([&] { parse_json(text, "a.json"); });
}

TEST(Json, ReadsWhatIsValid) {
  const auto value = parse_json(R"({"a": [1, -2.5, null, true], "b": {"a": "ä"}})", "a.json");
  EXPECT_EQ(value["a"][1], -2.5);
  EXPECT_EQ(value["b"]["a"], "ä");
}

TEST(Json, RefusesWhatIsNot) {
  EXPECT_EQ(message_for(""), "a.json: is empty, not JSON");
  EXPECT_EQ(message_for("{\"a\": 1,}"), "a.json: not valid JSON at byte 9");
  EXPECT_EQ(message_for("{} {}"), "a.json: not valid JSON at byte 4");
  EXPECT_NE(message_for("\"\xff\"").find("not valid JSON"), std::string::npos);
  EXPECT_NE(message_for("[1e999]").find("not valid JSON"), std::string::npos);
}

TEST(Json, RefusesAKeyTwiceInOneObject) {
  EXPECT_EQ(message_for(R"({"a": {"b": 1, "b": 2}})"), "a.json: the key 'b' is given twice");
  EXPECT_NO_THROW(parse_json(R"({"a": {"b": 1}, "b": {"b": 2}})", "a.json"));
}

TEST(Json, RefusesDeepNesting) {
  EXPECT_EQ(message_for(std::string(1'000'000, '[')), "a.json: JSON nested deeper than 32 levels");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(message_for(objects), "a.json: JSON nested deeper than 32 levels");
  EXPECT_NO_THROW(parse_json(std::string(32, '[') + std::string(32, ']'), "a.json"));
}

}  // namespace
}  // namespace sixfold
