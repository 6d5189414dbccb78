#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace sixfold {

/// Writes an event file of TensorBoard: records of TFRecord files (tensorflow.org, "TFRecord and
/// tf.train.Example"), each an `Event` (tensorflow/core/util/event.proto). Times are seconds since 1970; a step
/// is a number of updates. TensorBoard reads every file in its folder whose name contains "tfevents".
class EventFile {
 public:
  /// Begins a file that says who wrote it. Each record goes to `write` as a whole.
  EventFile(std::function<void(std::string_view)> write, double time, std::string_view writer);

  /// Adds a point of the curve `tag`, such as "train/loss". The value may be NaN.
  void add_scalar(std::string_view tag, int64_t step, double time, double value);
  /// Adds a text, which TensorBoard shows as Markdown.
  void add_text(std::string_view tag, int64_t step, double time, std::string_view text);
  /// Records that the run was resumed from an earlier step: TensorBoard discards what was added for `step` and
  /// later steps.
  void restart(int64_t step, double time);

 private:
  void add_event(int64_t step, double time, const std::string& content);

  std::function<void(std::string_view)> write_;
};

/// Takes the first record from the bytes of a TFRecord file and returns its data, or nothing if the bytes do
/// not begin with a complete record with correct checksums.
std::optional<std::string_view> take_record(std::string_view& bytes);

/// The name of the program that wrote an event file, or an empty text if the bytes are not the beginning of an
/// event file or do not contain the name.
std::string writer_of_events(std::string_view bytes);

/// CRC-32C (Castagnoli; RFC 3720, appendix B.4).
uint32_t crc32c(std::string_view bytes);

}  // namespace sixfold
