#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace sixfold::serve {

/// A JSON value as text. What is not valid UTF-8, such as a part of a client's path, becomes U+FFFD.
inline std::string json_text(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace sixfold::serve
