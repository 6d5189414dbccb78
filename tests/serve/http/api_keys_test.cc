#include "serve/http/api_keys.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "error_message.h"
#include "serve/service_fixture.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::json;

class ApiKeysTest : public ServiceFixture {
 protected:
  ApiKeysTest() {
    write_file_atomically(folder_ / "keys", "one\ntwo\ntwoandmore\n");
    start({.keys = folder_ / "keys"});
  }
  HttpAnswer with(const std::string& key, const std::string& method, const std::string& path,
                  const Json& body = nullptr) const {
    return ask({.method = method,
                .path = path,
                .headers = {{"content-type", "application/json"}, {"authorization", "DeepL-Auth-Key " + key}},
                .body = body.is_null() ? "" : body.dump()});
  }
};

TEST_F(ApiKeysTest, AKeyIsKnownByAllOfIt) {
  ApiKeys keys(folder_ / "keys");
  for (const char* key : {"one", "two", "twoandmore"}) EXPECT_NO_THROW(keys.admit(key)) << key;
  for (const char* key : {"", "o", "on", "onf", "onee", "oneone", "twoand", "twotwo", "One"})
    EXPECT_THROW(keys.admit(key), HttpError) << key;
}

/// Loading the keys again gives nobody more requests.
TEST_F(ApiKeysTest, KeysThatStayKeepWhatTheyHaveLeft) {
  write_file_atomically(folder_ / "old", "one 2\ntwo 2\n");
  write_file_atomically(folder_ / "new", "one 2\nthree\n");
  const auto now = ApiKeys::Clock::now();
  ApiKeys keys(folder_ / "old");
  for (int i = 0; i < 2; ++i) keys.admit("one", now);
  keys.replace(ApiKeys(folder_ / "new"));
  const auto status = [&](const char* key) {
    try {
      keys.admit(key, now);
    } catch (const HttpError& error) {
      return error.status();
    }
    return 200;
  };
  EXPECT_EQ(status("one"), 429);
  EXPECT_EQ(status("two"), 403);
  EXPECT_EQ(status("three"), 200);
  keys.replace(ApiKeys(""));
  EXPECT_FALSE(keys.needed());
}

/// A long key takes no longer to refuse than a short one: with a comparison of each byte this would take
/// minutes.
TEST_F(ApiKeysTest, ALongKeyIsRefusedAtOnce) {
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "key" + std::to_string(i) + "\n";
  write_file_atomically(folder_ / "many", many);
  ApiKeys keys(folder_ / "many");
  for (int i = 0; i < 10; ++i) EXPECT_THROW(keys.admit(std::string(4 << 20, 'k')), HttpError);
  EXPECT_NO_THROW(keys.admit("key9999"));
  write_file_atomically(folder_ / "long", std::string(1025, 'k'));
  EXPECT_NE(error_message([&] { ApiKeys(folder_ / "long"); }).find("long:1: a key has at most 1024 bytes"),
            std::string::npos);
}

TEST_F(ApiKeysTest, UsageIsThatOfAKey) {
  const Json request{{"text", {"a b c"}}, {"target_lang", "DE"}, {"source_lang", "EN"}};
  EXPECT_EQ(with("one", "POST", "/v2/translate", request).status, 200);
  EXPECT_EQ(with("one", "POST", "/translate", {{"q", "a b"}, {"source", "en"}, {"target", "de"}}).status, 200);
  EXPECT_EQ(with("one", "POST", "/v1/translate", {{"text", "a"}, {"model", "en-de"}}).status, 200);
  EXPECT_EQ(json(with("one", "GET", "/v2/usage"))["character_count"], 5 + 3 + 1);
  EXPECT_EQ(json(with("two", "GET", "/v2/usage"))["character_count"], 0);
}

/// With or without keys, whoever asks has one name to take turns under, on any number of connections.
TEST_F(ApiKeysTest, TurnsAreThoseOfAKeyOrAnAddress) {
  const auto caller = [&](const std::string& key, const std::string& address) {
    return service_->scheduling_key(
        {.method = "GET", .path = "/", .headers = {{"authorization", "Bearer " + key}}, .address = address});
  };
  EXPECT_EQ(caller("one", "10.0.0.1"), caller("one", "10.0.0.2"));
  EXPECT_NE(caller("one", "10.0.0.1"), caller("two", "10.0.0.1"));
  start();
  EXPECT_EQ(caller("one", "10.0.0.1"), caller("two", "10.0.0.1"));
  EXPECT_NE(caller("one", "10.0.0.1"), caller("one", "10.0.0.2"));
}

/// Without a key nothing of a body is read, whatever is wrong with it.
TEST_F(ApiKeysTest, BodiesWithoutAKeyAreNotParsed) {
  for (const char* type : {"application/json", "application/x-www-form-urlencoded", "text/xml"})
    expect_refused(post_text("/translate", std::string(100'000, '['), type), 403, "needs an API key");
  std::string fields;
  for (int i = 0; i < 5000; ++i) fields += "a&";
  const char* form = "application/x-www-form-urlencoded";
  expect_refused(post_text("/translate", fields, form), 403, "needs an API key");
  EXPECT_EQ(post_text("/translate", "q=a&source=en&target=de&api_key=two", form).status, 200);
  EXPECT_EQ(ask({.method = "GET", .path = "/v2/usage", .query = {{"auth_key", "two"}}}).status, 200);
}

}  // namespace
}  // namespace sixfold::serve
