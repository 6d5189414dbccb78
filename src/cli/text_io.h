#pragma once
#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "data/lines.h"

namespace sixfold::cli {

/// What a command that turns text into text reads and writes: files, or "-" for standard input and output.
struct TextPaths {
  std::string input = "-";
  std::string output = "-";
  InvalidUtf8 invalid = InvalidUtf8::error;
};

/// Adds --input, --output and --invalid-utf8.
void add_text_options(CLI::App& command, TextPaths& paths);
void add_text_output_option(CLI::App& command, std::string& path);
void add_invalid_utf8_option(CLI::App& command, InvalidUtf8& invalid);

/// What to give to `LineReader` and `read_lines`: the path itself, or standard input's for "-".
std::string readable_path(const std::string& path);
/// What messages and reports call it.
std::string text_name(const std::string& path);

/// `LineReader::next`, which a noted interrupt ends, also while it waits for input (`check_interrupt`).
bool next_line(LineReader& reader, std::string& line);

/// The text that a command makes, written to standard output ("-") or to a file that appears whole at `close`.
/// A file whose name ends in .gz is gzipped.
///
/// Throws an environment error when writing fails; but where the reader of standard output has gone, as in `|
/// head`, a std::system_error of broken_pipe, which fmt::print throws as well and main.cc takes for a good end.
///
/// A file's makes interrupts be noted before its temporary file is there, so that none of them leaves it
/// behind: writing then throws `Cancelled`. Make it after what takes long and writes nothing, such as a model's
/// loading, which an interrupt ends at once.
class TextOutput {
 public:
  /// `inputs`: what the command reads. Throws an input error where the output is one of them, or belongs to a
  /// model or a training run (`require_output_file`).
  explicit TextOutput(const std::string& path, const std::vector<std::string>& inputs = {});
  ~TextOutput();

  void write(std::string_view text);
  /// Writes the text as one line (`one_line`) and its end, so that each call gives one line to whoever reads
  /// it.
  void write_line(std::string text);
  /// Hands what was written to standard output on to its reader; a file waits for `close`.
  void flush();
  /// Call once, last: without it a file does not appear.
  void close();

 private:
  class Gzip;
  std::optional<AtomicFile> file_;  ///< none for standard output
  std::unique_ptr<Gzip> gzip_;      ///< none for plain text
};

/// Flushes standard output, however it was written to, and throws as `TextOutput` if any of it was lost.
void flush_standard_output();

}  // namespace sixfold::cli
