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

/// What becomes of a line that is no text: not valid UTF-8, or with a NUL in it.
enum class InvalidUtf8 {
  error,    ///< the error names file and line
  replace,  ///< U+FFFD stands for the bad bytes
  skip,     ///< the line, or in a corpus the pair, is left out
};

template <>
struct EnumNames<InvalidUtf8> {
  static constexpr std::pair<InvalidUtf8, std::string_view> names[] = {
      {InvalidUtf8::error, "error"}, {InvalidUtf8::replace, "replace"}, {InvalidUtf8::skip, "skip"}};
};

inline constexpr std::string_view byte_order_mark = "\uFEFF";

/// What becomes of a byte order mark at the start of a file.
enum class ByteOrderMark {
  drop,  ///< it tells the encoding
  keep,  ///< it is the first character of the first line
};

/// Throws unless `path` is there, may be read and is no folder. Opens nothing, so that a pipe stays whole.
void require_readable(const std::string& path);

/// What messages call a text: its path, or "standard input" for "/dev/stdin".
std::string name_of_text(const std::string& path);

/// The lines of a text file, plain or gzipped (told by its first bytes, whatever its name). A carriage return
/// at the end of a line is dropped; the last line needs no line end. "/dev/stdin" is standard input: the
/// descriptor that the process was given is read, and nothing opened.
class LineReader {
 public:
  /// Throws as `require_readable`.
  explicit LineReader(const std::string& path, ByteOrderMark mark = ByteOrderMark::drop);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Reads the next line; false at the end. Throws when the file can't be read, or its gzip stream is damaged.
  bool next(std::string& line);
  /// Whether `next` has a line, or the end, to tell without waiting for input much longer than that.
  bool ready(std::chrono::milliseconds patience);

  /// The part of the file that was read, from 0 to 1; 0 for what is no regular file.
  double part_read() const;

  /// How many lines were read.
  int64_t line_number() const { return line_number_; }
  /// "path:line", or "standard input:line", of the line read last.
  std::string place() const;

 private:
  class Gunzip;
  bool fill();

  std::string path_;
  ByteOrderMark mark_;
  int descriptor_;
  std::unique_ptr<Gunzip> gunzip_;  ///< none for plain text
  std::string buffer_;              ///< text
  size_t used_ = 0;                 ///< of the buffer
  bool begun_ = false, ended_ = false;
  int64_t line_number_ = 0;
  int64_t bytes_read_ = 0, file_bytes_ = 0;  ///< gzipped if the file is; 0 bytes for a pipe
};

/// Why a line is no text ("byte 3 is not valid UTF-8"), or nothing. A NUL is no text: many programs take it for
/// the end, and SentencePiece drops it.
std::optional<std::string> fault_of_text(std::string_view line);
/// The line with U+FFFD in place of what is no text.
std::string replace_faults(std::string_view line);

/// Makes text of a line that was just read: as it is, with U+FFFD for bad bytes, or empty where it is to be
/// skipped. Throws for `error`, naming file, line and byte.
void make_valid(std::string& line, const LineReader& reader, InvalidUtf8 invalid);

/// All lines of a text file. With `skip`, a line that is no text becomes an empty one, so that line numbers
/// keep their meaning.
std::vector<std::string> read_lines(const std::string& path, InvalidUtf8 invalid = InvalidUtf8::error,
                                    ByteOrderMark mark = ByteOrderMark::drop);

}  // namespace sixfold
