#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// What becomes of a line that is not valid UTF-8.
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

/// Throws unless `path` is there, may be read and is no folder. Opens nothing, so that a pipe stays whole.
void require_readable(const std::string& path);

/// The lines of a text file, plain or gzipped (told by its first bytes, whatever its name). A carriage return
/// at the end of a line and a byte order mark at the start of the file are dropped; the last line needs no line
/// end.
class LineReader {
 public:
  /// Throws as `require_readable`.
  explicit LineReader(const std::string& path);

  /// Reads the next line; false at the end. Throws when the file can't be read, or its gzip stream is damaged.
  bool next(std::string& line);

  /// How many lines were read.
  int64_t line_number() const { return line_number_; }
  /// "path:line" of the line read last.
  std::string place() const;

 private:
  bool fill();

  struct Close {
    void operator()(void* file) const;
  };
  std::string path_;
  std::unique_ptr<void, Close> file_;
  std::string buffer_;
  size_t used_ = 0;  ///< of the buffer
  int64_t line_number_ = 0;
};

/// All lines of a text file. With `skip`, a line that is not valid UTF-8 becomes an empty one, so that line
/// numbers keep their meaning.
std::vector<std::string> read_lines(const std::string& path, InvalidUtf8 invalid = InvalidUtf8::error);

}  // namespace sixfold
