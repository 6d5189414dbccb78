#pragma once
#include <string>

namespace sixfold {

/// A run's folder, which belongs to one process at a time. What processes that were killed left half written in
/// it is removed.
class RunFolder {
 public:
  /// Makes the folder where there is none. Throws an input error where another process trains in it.
  explicit RunFolder(const std::string& path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string corpus() const { return path_ + "/corpus"; }
  std::string log() const { return path_ + "/train.jsonl"; }
  std::string best() const { return path_ + "/best"; }
  std::string model() const { return path_ + "/model"; }

 private:
  std::string path_;
  int lock_;
};

}  // namespace sixfold
