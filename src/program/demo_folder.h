#pragma once
#include <map>
#include <string>

namespace sixfold::cli {

/// Creates the folder for generated data unless it exists. Throws an input error that begins with the option
/// if the name is empty or that of a file, or if the folder belongs to a training run.
void make_demo_folder(const std::string& option, const std::string& path);

/// Writes all files, given by name, into an existing folder, or none. A file with other contents belongs to the
/// user: it is an input error, and is not replaced.
void write_demo_files(const std::string& folder, const std::map<std::string, std::string>& files);

}  // namespace sixfold::cli
