#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"

namespace sixfold {

/// A number with the decimal digits of the float `value`, not with those of its conversion to double.
inline double as_written(float value) { return std::stod(fmt::format("{}", value)); }

/// Writes a file of an exported folder, indented by two spaces. Throws as `write_file_atomically`.
inline void write_json(const std::filesystem::path& path, const nlohmann::ordered_json& json) {
  write_file_atomically(path, json.dump(2) + "\n");
}

}  // namespace sixfold
