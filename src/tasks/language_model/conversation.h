#pragma once
#include <string_view>
#include <vector>

#include "text/chat_format.h"

namespace sixfold {

/// Reads the messages of a conversation, JSON as OpenAI's API has it: a list of objects with "role" and
/// "content", which is a text or a list of parts {"type": "text", "text": TEXT}. The role "developer" is that
/// of the system. Keys with the value null count as absent. Throws an input error that names the message for
/// anything else, and as `parse_json`.
std::vector<ChatMessage> read_messages(std::string_view text);

/// A line of text as a conversation: one that begins with "[{", with any white space, is JSON for
/// `read_messages`, any other a message of the user. Throws an input error as `read_messages`.
std::vector<ChatMessage> conversation_of(std::string_view line);

}  // namespace sixfold
