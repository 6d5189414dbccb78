#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/words.h"

namespace sixfold {

class Tokenizer;

/// A message of a conversation.
struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant"
  std::string content;
};

/// How a family of models writes a conversation as one text. A message is `open`, its role, `middle`, its
/// content and `close`. The text ends with the beginning of the assistant's next message. Control tokens are
/// written as in vocabularies, such as "<|im_end|>".
struct ChatFormat {
  std::string_view name, open, middle, close;
  bool trims = false;              ///< contents are written without white space at both ends
  bool drops_thoughts = false;     ///< the assistant's contents begin after the last "</think>"
  std::string_view preamble = {};  ///< begins the first message, which is then always the system's
};

/// The table of all formats.
std::span<const ChatFormat> chat_formats();
/// The format of this name; null if there is none.
const ChatFormat* chat_format_named(std::string_view name);

/// The control tokens in a text, "<|", letters, digits, "_" or "/", and "|>", sorted and without repetition.
std::vector<std::string> control_tokens_in(std::string_view text);
/// A text as a literal of Jinja.
std::string jinja_literal(std::string_view text);

/// A Jinja template that writes the same text as `chat_text`, and that `recognize_chat` recognizes. `starts`:
/// whether it begins with the start token.
std::string chat_template_of(const ChatFormat& format, const std::string& system, bool starts);

/// A conversation as one text, and the ranges of its contents, in which nothing is read as a control token.
struct ChatText {
  std::string text;
  std::vector<TextRange> contents;
};

/// Writes a conversation, without the start token. Its texts are well-formed UTF-8. Throws an input error that
/// names the message if it has another role, if a system message is empty, or if the last message is not the
/// user's.
ChatText chat_text(const ChatFormat& format, const std::string& system, std::span<const ChatMessage> messages);

/// Why conversations can't be encoded: the tokenizer lacks a control token, or texts could contain it. Nothing
/// if they can.
std::optional<std::string> chat_fault(const ChatFormat& format, const Tokenizer& tokenizer);
/// The id of the control token that ends a message, such as that of "<|im_end|>". The tokenizer must have it.
int32_t end_of_message(const ChatFormat& format, const Tokenizer& tokenizer);

}  // namespace sixfold
