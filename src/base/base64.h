#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

/// The bytes as base64 with padding (RFC 4648, section 4).
std::string base64(std::string_view bytes);
/// The bytes of a base64 text with or without padding, or nothing if it is none.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace sixfold
