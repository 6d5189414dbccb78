#pragma once
#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "data/lines.h"
#include "program/kit/interrupt.h"

namespace sixfold::cli {

/// The input and output of a command that converts text: files, or "-" for standard input and output.
struct TextPaths {
  std::string input = "-";
  std::string output = "-";
  InvalidUtf8 invalid = InvalidUtf8::error;
};

/// Adds --input, --output and --invalid-utf8.
void add_text_options(CLI::App& command, TextPaths& paths);
void add_text_output_option(CLI::App& command, std::string& path);
/// Adds the files of parallel texts, for `corpus_files`.
void add_parallel_text_argument(CLI::App& command, std::vector<std::string>& files);
void add_invalid_utf8_option(CLI::App& command, InvalidUtf8& invalid);

/// The path to give to `LineReader` and `read_lines`: the path itself, or "/dev/stdin" for "-".
std::string readable_path(const std::string& path);
/// The name for messages and reports.
std::string text_name(const std::string& path);
/// Throws an input error that names both files if they do not have the same number of lines.
void require_equal_lines(const std::string& path, size_t lines, const std::string& other, size_t other_lines);
/// Text as a cell of a Markdown table: on one line, with special characters escaped.
std::string markdown_cell(const std::string& text);

/// `LineReader::next`, but throws `Cancelled` after an interrupt, even while it waits for input
/// (`check_interrupt`).
bool next_line(LineReader& reader, std::string& line);
/// The amount of text that commands read before they pass it to a model, so that long lines take little memory.
/// The line that exceeds the limit is still included.
inline constexpr size_t max_bytes_at_once = 1 << 20;
/// Collects items of an input in blocks: all items that are available without waiting, or else the next one as
/// soon as it arrives. An error of the input is thrown only after the items before it have been returned.
template <class Item>
class ItemBlocks {
 public:
  /// Returns the next block; empty at the end. `next` reads an item, and returns whether there was one; `full`
  /// returns whether the block is complete. Throws `Cancelled` after an interrupt, even while it waits
  /// (`check_interrupt`).
  template <class Reader>
  std::vector<Item> next(Reader& reader, const std::function<bool(Item& item)>& next,
                         const std::function<bool(const std::vector<Item>& items)>& full) {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    std::vector<Item> items;
    try {
      while (!full(items) && (items.empty() || reader.ready(std::chrono::milliseconds(0)))) {
        do check_interrupt();
        while (!reader.ready(std::chrono::milliseconds(50)));
        if (Item item; next(item))
          items.push_back(std::move(item));
        else
          break;
      }
    } catch (const Cancelled&) {
      throw;
    } catch (...) {
      if (items.empty()) throw;
      error_ = std::current_exception();
    }
    return items;
  }

 private:
  std::exception_ptr error_;
};

/// Reads the lines of a text in blocks; the lines are made valid UTF-8 (`make_valid`).
class LineBlocks {
 public:
  /// Throws as `LineReader`.
  LineBlocks(const std::string& path, InvalidUtf8 invalid) : reader_(path), invalid_(invalid) {}
  /// Returns the next lines, up to `max_lines` or `max_bytes_at_once`; none at the end.
  std::vector<std::string> next(size_t max_lines);

 private:
  LineReader reader_;
  InvalidUtf8 invalid_;
  ItemBlocks<std::string> blocks_;
};

/// The output of a command, written to standard output ("-") or to a file that appears at `close`, when it is
/// complete. A file whose name ends in .gz is gzipped.
///
/// Throws an environment error if writing fails. If the reader of standard output has closed it, as in `|
/// head`, throws a std::system_error of broken_pipe instead, which main.cc treats as success (fmt::print throws
/// it too).
///
/// For a file, the constructor calls `note_interrupts` before it creates the temporary file, so that an
/// interrupt does not leave it behind: writing then throws `Cancelled`. Construct it after long operations that
/// write nothing, such as loading a model, so that an interrupt ends those at once.
class TextOutput {
 public:
  /// `inputs` are the files that the command reads. Throws an input error if the output is one of them, or
  /// belongs to a model or a training run (`require_output_file`).
  explicit TextOutput(const std::string& path, const std::vector<std::string>& inputs = {});
  ~TextOutput();

  void write(std::string_view text);
  /// Writes the text as one line (`one_line`) and a line end.
  void write_line(std::string text);
  /// Flushes standard output. Has no effect on a file before `close`.
  void flush();
  /// Completes the output. Must be called once, at the end; without it the file does not appear.
  void close();

 private:
  class Gzip;
  std::optional<AtomicFile> file_;  ///< empty for standard output
  std::unique_ptr<Gzip> gzip_;      ///< null for plain text
};

/// Flushes standard output, including what was not written by `TextOutput`. Throws as `TextOutput` if any of it
/// was lost.
void flush_standard_output();
/// Writes a text to standard output and ends the program with status 0. Throws as `flush_standard_output`.
[[noreturn]] void print_and_exit(const std::string& text);

}  // namespace sixfold::cli
