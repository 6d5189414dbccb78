#include "tasks/language_model/conversation.h"

#include <gtest/gtest.h>

#include "error_message.h"
#include "tasks/language_model/settings.h"

namespace sixfold {
namespace {

std::string written(const std::string& line) {
  std::string all;
  for (const ChatMessage& message : conversation_of(line)) all += message.role + "=" + message.content + ";";
  return all;
}

TEST(Conversation, IsALineOrJson) {
  EXPECT_EQ(written("a [b]"), "user=a [b];");
  EXPECT_EQ(written("[b]"), "user=[b];");
  for (const char* spaces : {" ", "\n  ", "\t\r\n"})
    EXPECT_EQ(written(fmt::format(R"({0}[{0}{{"role": "user", "content": "b"}}])", spaces)), "user=b;");
  EXPECT_EQ(
      written(R"([{"role": "developer", "content": "a"}, {"role": "user", "content": "b", "name": null}])"),
      "system=a;user=b;");
  EXPECT_EQ(
      written(
          R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}])"),
      "user=ab;");
}

TEST(Conversation, RefusesWhatItDoesNotKnow) {
  const auto refuse = [](const std::string& messages, const std::string& part) {
    const std::string error = error_message([&] { read_messages(messages); });
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  refuse("[{", "the conversation");
  refuse("{}", "must be a list");
  refuse("[1]", "message 1 is not an object");
  refuse(R"([{"role": "user"}])", "message 1 has no \"content\"");
  refuse(R"([{"content": "a"}])", "message 1 has no \"role\"");
  refuse(R"([{"role": 1, "content": "a"}])", "message 1: \"role\" must be a text");
  refuse(R"([{"role": "user", "content": null}])", "message 1: \"content\" must be a text");
  refuse(R"([{"role": "user", "content": "a", "name": "me"}])", "message 1: \"name\" is not supported");
  refuse(R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])",
         "message 1: \"image_url\" of a part is not supported");
  refuse(R"([{"role": "user", "content": [{"type": "text"}]}])", "only parts of the type \"text\"");
  refuse(R"([{"role": "user", "content": [1]}])", "message 1 has a part that is not an object");
}

TEST(ChatSettings, NameAFormat) {
  LanguageModelSettings settings;
  settings.chat.format = "none";
  EXPECT_NE(
      error_message([&] { validate(settings); }).find("chat.format is 'none'; it must be empty or one of"),
      std::string::npos);
}

}  // namespace
}  // namespace sixfold
