#pragma once
#include <string>

namespace sixfold {

/// A run's folder, which belongs to one process at a time. The file `run_mark` in it says that it is one, and
/// is locked by the process that trains.
class RunFolder {
 public:
  /// Makes the folder where there is none. Removes what processes that were killed left half written in it, by
  /// the exact names of a run's parts. Throws an input error where another process trains in it, and for a
  /// folder that holds other things and is no run.
  explicit RunFolder(const std::string& path);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string config() const { return path_ + "/config.json"; }
  std::string text() const { return path_ + "/encoded-text"; }
  std::string validation_text() const { return path_ + "/validation-text.json"; }
  std::string log() const { return path_ + "/train.jsonl"; }
  std::string diverged() const { return path_ + "/diverged.json"; }
  std::string best() const { return path_ + "/best"; }
  std::string model() const { return path_ + "/model"; }

  /// Whether the run has had a checkpoint, which may be gone since.
  bool had_checkpoint() const;
  void note_checkpoint() const;

 private:
  /// The open mark; the lock on it goes with it.
  struct Mark {
    int file = -1;
    ~Mark();
  };

  std::string path_;
  Mark mark_;
};

}  // namespace sixfold
