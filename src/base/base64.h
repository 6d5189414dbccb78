#pragma once
#include <string>
#include <string_view>

namespace sixfold {

/// The bytes as base64 with padding (RFC 4648, section 4).
std::string base64(std::string_view bytes);

}  // namespace sixfold
