#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"

namespace sixfold {

/// Writes sequences of ids to the files FOLDER/NAME.ids and FOLDER/NAME.offsets, as `IdSequences::map` reads
/// them.
class SequenceWriter {
 public:
  SequenceWriter(const std::string& folder, const std::string& name)
      : ids_(folder + "/" + name + ".ids"), offsets_(folder + "/" + name + ".offsets") {
    end();
  }
  /// Appends ids to the sequence that is not ended yet.
  void append(std::span<const int32_t> ids) {
    ids_.write(std::as_bytes(ids));
    length_ += std::ssize(ids);
  }
  /// Ends the sequence.
  void end() { offsets_.write(std::as_bytes(std::span(&length_, 1))); }
  void add(std::span<const int32_t> sequence) {
    append(sequence);
    end();
  }
  void commit() {
    ids_.commit();
    offsets_.commit();
  }

 private:
  AtomicFile ids_, offsets_;
  int64_t length_ = 0;
};

}  // namespace sixfold
