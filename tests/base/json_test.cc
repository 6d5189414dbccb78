#include "base/json.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
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
  EXPECT_EQ(message_for("[1e999]"), "a.json: not valid JSON: a number is too large");
}

TEST(Json, RefusesAKeyTwiceInOneObject) {
  EXPECT_EQ(message_for(R"({"a": {"b": 1, "b": 2}})"), "a.json: the key 'b' is given twice; remove one");
  EXPECT_NO_THROW(parse_json(R"({"a": {"b": 1}, "b": {"b": 2}})", "a.json"));
}

TEST(Json, RefusesDeepNesting) {
  EXPECT_EQ(message_for(std::string(1'000'000, '[')), "a.json: JSON is nested deeper than 32 levels");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_EQ(message_for(objects), "a.json: JSON is nested deeper than 32 levels");
  EXPECT_NO_THROW(parse_json(std::string(32, '[') + std::string(32, ']'), "a.json"));
}

/// The time must not grow with the square of a list's length: this one would take many minutes.
TEST(Json, ReadsLongListsOfObjectsInLinearTime) {
  std::string text = "[";
  for (int i = 0; i < 600'000; ++i) text += "{\"\":0},";
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(parse_json(text + "[]]", "a.json").size(), 600'001u);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(100));
}

TEST(Json, RefusesTooManyValues) {
  const JsonLimits limits{.max_values = 5};
  EXPECT_NO_THROW(parse_json(R"({"a": [1, null], "b": "c"})", "a.json", limits));
  for (const char* text : {R"({"a": [1, null], "b": {"c": true}})", "[0, 0, 0, 0, 0]", "[[], [], [], [], []]"})
    EXPECT_EQ(error_message([&] { parse_json(text, "a.json", limits); }),
              "a.json: JSON has more than 5 values");
}

TEST(Json, ReadsWholeNumbersWithinTheirRange) {
  const auto read = [](const std::string& text, int64_t least, int64_t most) {
    return whole_number(parse_json(text, "a.json"), "a.json: n", least, most);
  };
  constexpr int64_t smallest = std::numeric_limits<int64_t>::min(),
                    largest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(read("7", 0, 7), 7);
  EXPECT_EQ(read("0", -3, 7), 0);
  EXPECT_EQ(read("-3", -3, 7), -3);
  EXPECT_EQ(read("9223372036854775807", smallest, largest), largest);
  EXPECT_EQ(read("-9223372036854775808", smallest, largest), smallest);
  EXPECT_EQ(error_message([&] { read("8", 0, 7); }), "a.json: n is 8; expected a whole number from 0 to 7");
  for (const char* text : {"-4", "1.5", "1.0", "1e300", "-1e300", "18446744073709551615", "9223372036854775808",
                           "\"1\"", "null", "true", "[1]", "{}"})
    EXPECT_NE(error_message([&] { read(text, -3, 7); }).find("expected a whole number"), std::string::npos)
        << text;
  for (const char* text : {"18446744073709551615", "9223372036854775808", "-9223372036854775809"})
    EXPECT_NE(error_message([&] { read(text, smallest, largest); }).find("expected a whole"), std::string::npos)
        << text;
  EXPECT_NE(error_message([&] { read("0", -7, -3); }).find("expected a whole"), std::string::npos);
  EXPECT_NE(error_message([&] { read("2", 3, 7); }).find("expected a whole"), std::string::npos);
  // What may be of any length is cut short.
  const std::string text = error_message([&] { read("\"" + std::string(1000, 'x') + "\"", 0, 7); });
  EXPECT_LT(text.size(), 100u) << text;
}

TEST(Json, ReadsMembersByTheirTypes) {
  const std::string where = "a.json";
  const auto json =
      parse_json(R"({"n": 3, "x": -2.5, "t": "text", "l": [1, 2], "bad": [1, 1e300], "far": 1e16})", where);
  const JsonObject object(json, where);
  int64_t count = 0;
  double number = 0;
  std::string text;
  std::vector<int64_t> list{9};
  object.read("n", count);
  object.read("x", number);
  object.read("t", text);
  object.read("l", list);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(number, -2.5);
  EXPECT_EQ(text, "text");
  EXPECT_EQ(list, (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(object.has("n"));
  EXPECT_FALSE(object.has("m"));
  EXPECT_EQ(error_message([&] { object.read("m", count); }), "a.json: 'm' is missing");
  EXPECT_EQ(error_message([&] { object.read("x", count); }),
            "a.json: 'x' is -2.5; expected a whole number from 0 to 1000000000000000");
  EXPECT_EQ(error_message([&] { object.read("bad", list); }),
            "a.json: in 'bad', an entry is 1e+300; expected a whole number from 0 to 1000000000000000");
  EXPECT_NE(error_message([&] { object.read("far", count); }).find("expected a whole number"),
            std::string::npos);
  EXPECT_EQ(error_message([&] { object.read("n", list); }), "a.json: 'n' is 3; expected a list");
  EXPECT_EQ(error_message([&] { object.read("t", number); }), "a.json: 't' is \"text\"; expected a number");
  EXPECT_EQ(error_message([&] { object.read("l", text); }), "a.json: 'l' is a list; expected a string");
  EXPECT_EQ(error_message([&] { JsonObject(json["l"], where); }), "a.json: expected a JSON object");
}

}  // namespace
}  // namespace sixfold
