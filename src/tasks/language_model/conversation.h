#pragma once
#include <string_view>
#include <vector>

#include "text/chat_format.h"

namespace sixfold {

/// Reads the messages of a conversation in the JSON format of OpenAI's API: a list of objects with "role" and
/// "content", which is a text or a list of parts {"type": "text", "text": TEXT}. The role "developer" is read
/// as "system". Keys with the value null count as absent. Throws an input error that names the message for
/// anything else, and throws as `parse_json`.
std::vector<ChatMessage> read_messages(std::string_view text);

/// Reads a line as a conversation. A line that begins with "[{", with any white space around them, is JSON for
/// `read_messages`; any other line is a message of the user. Throws an input error as `read_messages`.
std::vector<ChatMessage> conversation_of(std::string_view line);

}  // namespace sixfold
