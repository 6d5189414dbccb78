#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "text/chat_format.h"

namespace sixfold {

/// What a template in Jinja says.
struct RecognisedChat {
  const ChatFormat* format = nullptr;
  std::string system;        ///< the system message of conversations without one; empty: none
  bool starts = false;       ///< whether the start token stands before the text
  bool names_today = false;  ///< whether it has today's date, for which `ChatFormat::preamble` has a fixed one
};

/// Recognises a template that has, as a whole, one of the shapes that are known for a format (`jinja_shape`),
/// with any default system message. Returns nothing for any other: it might write something else. Takes time
/// linear in the template.
std::optional<RecognisedChat> recognise_chat(std::string_view jinja);

}  // namespace sixfold
