#include "tasks/language_model/conversation.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace sixfold {
namespace {

using nlohmann::json;

constexpr JsonLimits limits{.max_depth = 8, .max_values = 100'000};

/// The text of a JSON value. `where`: its name in errors.
std::string text_of(const json& value, const std::string& where) {
  require(value.is_string(), "{} must be a text", where);
  return value.get<std::string>();
}

/// The joined text of the parts of a message.
std::string text_of_parts(const json& parts, const std::string& where) {
  std::string text;
  for (const json& part : parts) {
    require(part.is_object(), "{} has a part that is not an object", where);
    for (const auto& [key, value] : part.items())
      require(key == "type" || key == "text" || value.is_null(), "{}: \"{}\" of a part is not supported", where,
              key);
    require(part.contains("type") && part["type"] == "text" && part.contains("text"),
            "{}: only parts of the type \"text\" are supported", where);
    text += text_of(part["text"], where);
  }
  return text;
}

}  // namespace

std::vector<ChatMessage> read_messages(std::string_view text) {
  const json list = parse_json(text, "the conversation", limits);
  require(list.is_array(), "the messages of a conversation must be a list");
  std::vector<ChatMessage> messages;
  for (const json& one : list) {
    const std::string where = fmt::format("message {}", messages.size() + 1);
    require(one.is_object(), "{} is not an object with \"role\" and \"content\"", where);
    for (const auto& [key, value] : one.items())
      require(key == "role" || key == "content" || value.is_null(), "{}: \"{}\" is not supported", where, key);
    for (const char* key : {"role", "content"}) require(one.contains(key), "{} has no \"{}\"", where, key);
    ChatMessage message{.role = text_of(one["role"], where + ": \"role\""), .content = {}};
    if (message.role == "developer") message.role = "system";
    const json& content = one["content"];
    message.content =
        content.is_array() ? text_of_parts(content, where) : text_of(content, where + ": \"content\"");
    messages.push_back(std::move(message));
  }
  return messages;
}

std::vector<ChatMessage> conversation_of(std::string_view line) {
  const auto skip_spaces = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  };
  const std::string_view list = skip_spaces(line);
  if (!list.starts_with('[') || !skip_spaces(list.substr(1)).starts_with('{'))
    return {{.role = "user", .content = std::string(line)}};
  return read_messages(line);
}

}  // namespace sixfold
