#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sixfold {

/// Parses a JSON text that may come from anywhere. Throws an input error that starts with `where` (a file,
/// mostly) when the text is not valid JSON, has a key twice in one object, or is nested deeper than `deepest`.
nlohmann::json parse_json(std::string_view text, const std::string& where, int deepest = 32);

}  // namespace sixfold
