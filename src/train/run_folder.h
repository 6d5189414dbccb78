#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/folder_mark.h"

namespace sixfold {

/// The folder of a run, used by one process at a time. The file `run_mark` marks it as a run's folder; the
/// process that trains holds a lock on it.
class RunFolder {
 public:
  /// Creates the folder if it does not exist. Removes incomplete files that a killed process left; only files
  /// with the names of a run's parts are removed. `is_data_file`: whether a file of this name belongs to the
  /// task. Throws an input error if another process trains in the folder, or if it holds other files and is not
  /// a run's folder.
  explicit RunFolder(const std::string& path,
                     const std::function<bool(std::string_view name)>& is_data_file = {});
  /// The folder for another process of the run, after the process that holds the lock has opened it. Removes
  /// nothing. On a host that does not share the folder, creates one and holds a lock on it.
  struct OfAnotherProcess {};
  RunFolder(const std::string& path, OfAnotherProcess);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string config() const { return path_ + "/config.json"; }
  std::string log() const { return path_ + "/train.jsonl"; }
  std::string diverged() const { return path_ + "/diverged.json"; }
  std::string best() const { return path_ + "/best"; }
  std::string model() const { return path_ + "/model"; }

  /// Whether the run has ever written a checkpoint, even if that is missing now.
  bool had_checkpoint() const;
  /// Records that the run has written a checkpoint.
  void note_checkpoint() const;

 private:
  std::string path_;
  std::optional<FolderMark> mark_;
  void open_mark();
};

}  // namespace sixfold
