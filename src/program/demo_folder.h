#pragma once
#include <map>
#include <string>

namespace sixfold::cli {

/// Creates the folder for generated data unless it exists. Throws an input error, which names the option, if
/// the path is empty or a file, or if the folder belongs to a training run.
void make_demo_folder(const std::string& option, const std::string& path);

/// Writes files, given by name, into an existing folder. If any of them exists with other contents, throws an
/// input error and writes none: such a file belongs to the user.
void write_demo_files(const std::string& folder, const std::map<std::string, std::string>& files);

}  // namespace sixfold::cli
