#pragma once
#include <string>

#include "model/config.h"

namespace sixfold {

/// The version of the format of config.json that is written.
inline constexpr int config_format_version = 3;

/// Reads a config.json of this or an earlier format and validates it. Unknown keys and missing sizes are
/// errors. The settings of the task are read, and checked, by the task.
ModelConfig load_config(const std::string& path);

/// Writes a config.json atomically.
void save_config(const std::string& path, const ModelConfig& config);

/// The contents of a config.json.
OptionNode config_tree(const ModelConfig& config);

/// Renames the keys of an architecture from their names in version 0.1.0 to their present names. The group
/// "search" becomes the group "generation" of `root`. Throws an input error if old and new names are mixed.
void upgrade_architecture(OptionNode& architecture, OptionNode& root);

}  // namespace sixfold
