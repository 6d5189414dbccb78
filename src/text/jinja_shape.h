#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

/// What a template in Jinja writes without tools, in one spelling: two templates that have the same shape write
/// the same. White space within tags, quotation marks, comments, and how a text is divided into outputs are of
/// no account, and neither is what is done only for tools, for other roles than system, user and assistant, or
/// without a prompt for the assistant.
struct JinjaShape {
  std::string text;     ///< statements and outputs; texts stand between two `text_mark`
  bool starts = false;  ///< whether it begins with the start token, which `text` does not have then
};

constexpr char text_mark = '\1';  ///< at both ends of a text in a shape

/// Reads a template with the rules for white space that transformers sets (`trim_blocks`, `lstrip_blocks`).
/// Expressions are not interpreted. Returns nothing for what it does not know: other statements, escapes and
/// control characters, and more than 64 nested statements. Takes time linear in the template.
std::optional<JinjaShape> jinja_shape(std::string_view jinja);

}  // namespace sixfold
