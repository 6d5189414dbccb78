#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace sixfold {

/// A file of the corpora that stand beside a checkout but are not part of it: under SIXFOLD_SHARED, or
/// ../shared. Empty where there are none.
inline std::string shared_file(const std::string& name) {
  const char* folder = std::getenv("SIXFOLD_SHARED");
  const std::string path = (folder ? std::string(folder) : SIXFOLD_SOURCE_DIR "/../shared") + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

}  // namespace sixfold

/// Skips a test that needs this file, naming it, where it is absent.
#define SIXFOLD_NEEDS_SHARED(name) \
  if (sixfold::shared_file(name).empty()) GTEST_SKIP() << "needs " << name << " in SIXFOLD_SHARED or ../shared"
