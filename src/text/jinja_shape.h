#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

/// A normalized form of a Jinja template that writes conversations: two templates that have the same shape
/// write the same. It does not depend on white space within tags, quotation marks, comments, and on how a text
/// is divided into outputs. It leaves out the parts for tools, for other roles than system, user and assistant,
/// and for `add_generation_prompt` = false.
struct JinjaShape {
  std::string text;     ///< statements and outputs; texts stand between two `text_mark`
  bool starts = false;  ///< whether it begins with the start token, which is then left out of `text`
};

constexpr char text_mark = '\1';  ///< at both ends of a text in a shape

/// Reads a template with the rules for white space that transformers sets (`trim_blocks`, `lstrip_blocks`).
/// Expressions are not interpreted. Returns nothing for a template with other statements or escapes, with
/// control characters, or with more than 64 nested statements. Takes time linear in the template.
std::optional<JinjaShape> jinja_shape(std::string_view jinja);

}  // namespace sixfold
