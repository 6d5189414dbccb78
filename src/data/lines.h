#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// What to do with a line that is not valid text: not valid UTF-8, or with a NUL.
enum class InvalidUtf8 {
  error,    ///< throw an error that names file and line
  replace,  ///< replace the invalid bytes by U+FFFD
  skip,     ///< drop the line, or in a corpus the pair
};

template <>
struct EnumNames<InvalidUtf8> {
  static constexpr std::pair<InvalidUtf8, std::string_view> names[] = {
      {InvalidUtf8::error, "error"}, {InvalidUtf8::replace, "replace"}, {InvalidUtf8::skip, "skip"}};
};

inline constexpr std::string_view byte_order_mark = "\uFEFF";

/// What to do with a byte order mark at the beginning of a file.
enum class ByteOrderMark {
  drop,  ///< drop it, since it only marks the encoding
  keep,  ///< keep it as the first character of the first line
};

/// Throws an input error unless `path` exists, may be read and is not a folder. The file is not opened, so a
/// pipe loses no data.
void require_readable(const std::string& path);

/// The name of a text in messages: its path, or "standard input" for "/dev/stdin".
std::string name_of_text(const std::string& path);

/// Reads the lines of a text file, plain or gzipped (detected by its first bytes, not by its name). A carriage
/// return at the end of a line is dropped. The last line needs no line end. For "/dev/stdin" the existing
/// descriptor of standard input is read, and no file is opened.
class LineReader {
 public:
  /// Throws as `require_readable`.
  explicit LineReader(const std::string& path, ByteOrderMark mark = ByteOrderMark::drop);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Reads the next line. Returns false at the end. Throws an environment error if the file can't be read, and
  /// an input error if its gzip stream is damaged.
  bool next(std::string& line);
  /// Reads the rest of the text unchanged, with its line ends, after decompression. Throws as `next`.
  std::string rest();
  /// Reads the next part of the text unchanged, after decompression. Returns an empty text at the end. Throws
  /// as `next`.
  std::string next_part();
  /// Whether `next` can return without waiting for input; waits for at most about `timeout`, even if a line
  /// arrives in small pieces.
  bool ready(std::chrono::milliseconds timeout);

  /// The fraction of the file that was read, from 0 to 1, or 0 if it is not a regular file.
  double fraction_read() const;

  /// Whether no line is left. May wait for input.
  bool at_end();
  /// The number of lines that were read.
  int64_t line_number() const { return line_number_; }
  /// The place of the last line that was read: "path:line" or "standard input:line".
  std::string place() const;

 private:
  class Gunzip;
  bool fill();
  size_t line_end();

  std::string path_;
  ByteOrderMark mark_;
  int descriptor_;
  std::unique_ptr<Gunzip> gunzip_;  ///< null for plain text
  std::string buffer_;              ///< decompressed text
  size_t used_ = 0;                 ///< bytes of the buffer that `next` has returned
  size_t searched_ = 0;             ///< bytes after `used_` that are known to have no line end
  bool begun_ = false, ended_ = false;
  int64_t line_number_ = 0;
  int64_t bytes_read_ = 0, file_bytes_ = 0;  ///< compressed bytes if the file is gzipped; 0 for a pipe
};

/// The reason why a line is not valid text ("byte 3 is not valid UTF-8"), or nothing if it is valid. A NUL is
/// not valid: many programs treat it as the end of the text, and SentencePiece drops it.
std::optional<std::string> fault_of_text(std::string_view line);
/// The line with invalid bytes replaced by U+FFFD.
std::string replace_faults(std::string_view line);

/// Makes a line that was just read valid. With `replace`, invalid bytes become U+FFFD; with `skip`, an invalid
/// line becomes empty; with `error`, an invalid line throws an input error that names file, line and byte.
void make_valid(std::string& line, const LineReader& reader, InvalidUtf8 invalid);

/// Reads all lines of a text file. With `skip`, an invalid line becomes empty, so that line numbers stay the
/// same.
std::vector<std::string> read_lines(const std::string& path, InvalidUtf8 invalid = InvalidUtf8::error,
                                    ByteOrderMark mark = ByteOrderMark::drop);

}  // namespace sixfold
