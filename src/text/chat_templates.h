#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "text/chat_format.h"

namespace sixfold {

/// A Jinja template that was recognized.
struct RecognizedChat {
  const ChatFormat* format = nullptr;
  std::string system;         ///< the system message of conversations without one; empty: none
  bool starts = false;        ///< whether the start token stands before the text
  bool inserts_date = false;  ///< whether it inserts today's date, while `ChatFormat::preamble` has a fixed one
};

/// Recognizes a template that has, as a whole, one of the shapes that are known for a format (`jinja_shape`),
/// with any default system message. Returns nothing for any other: it might write something else. Takes time
/// linear in the template.
std::optional<RecognizedChat> recognize_chat(std::string_view jinja);

}  // namespace sixfold
