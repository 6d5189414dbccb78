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
/// Throws an input error that names both files unless they have as many lines, of which line n of one belongs
/// to line n of the other.
void require_equal_lines(const std::string& path, size_t lines, const std::string& other, size_t other_lines);
/// Text as a cell of a Markdown table: one line, without bars.
std::string markdown_cell(const std::string& text);

/// `LineReader::next`, but a recorded interrupt ends it, even while it waits for input (`check_interrupt`).
bool next_line(LineReader& reader, std::string& line);
/// What commands read before they use a model, so that long lines take little memory; the last line counts
/// whole.
inline constexpr size_t most_bytes_at_once = 1 << 20;
/// Collects what an input has for a command to serve at once: the items that are there already, or the next
/// one as soon as it comes. An error of the input is kept until the items before it are served.
template <class Item>
class ItemBlocks {
 public:
  /// Returns the next items; none at the end. `next` reads one, and returns whether there was one; `full` says
  /// whether there are enough. A recorded interrupt ends it, even while it waits (`check_interrupt`).
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

/// The lines of a text, some at a time and made valid (`make_valid`).
class LineBlocks {
 public:
  /// Throws as `LineReader`.
  LineBlocks(const std::string& path, InvalidUtf8 invalid) : reader_(path), invalid_(invalid) {}
  /// Returns the next lines, at most `most` or of `most_bytes_at_once`; none at the end.
  std::vector<std::string> next(size_t most);

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
  /// Call once, last. Without it a file does not appear.
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
