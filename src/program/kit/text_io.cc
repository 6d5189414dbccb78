#include "program/kit/text_io.h"

#include <poll.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/plural.h"
#include "model_folder/ownership.h"
#include "program/kit/interrupt.h"
#include "program/kit/value_option.h"
#include "text/utf8.h"

namespace sixfold::cli {
namespace {

/// Whether the reader of standard output has closed the pipe. std::cout does not keep the reason of a failed
/// write.
bool stdout_is_closed() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

[[noreturn]] void throw_output_error(int reason) {
  if (stdout_is_closed()) throw std::system_error(EPIPE, std::generic_category(), "standard output");
  throw_environment_error("can't write to standard output: {}",
                          reason ? std::strerror(reason) : "some of the output was lost");
}

}  // namespace

void add_text_options(CLI::App& command, TextPaths& paths) {
  command.add_option("-i,--input", paths.input, "file to read, plain or gzipped; -: standard input")
      ->type_name("FILE")
      ->capture_default_str();
  add_text_output_option(command, paths.output);
  add_invalid_utf8_option(command, paths.invalid);
}

void add_text_output_option(CLI::App& command, std::string& path) {
  command
      .add_option(
          "-o,--output", path,
          "file to write, gzipped if its name ends in .gz; it appears when it is complete; -: standard output")
      ->type_name("FILE")
      ->capture_default_str();
}

void add_parallel_text_argument(CLI::App& command, std::vector<std::string>& files) {
  command
      .add_option("files", files,
                  "alternately a source and a target file, or .tsv or .tmx files; each may be gzipped")
      ->type_name("FILE")
      ->required();
}

void add_invalid_utf8_option(CLI::App& command, InvalidUtf8& invalid) {
  add_value_option(
      command, "--invalid-utf8", invalid,
      "what to do with lines that contain NUL or are not valid UTF-8: error, replace (with U+FFFD) or skip "
      "(treat as empty)");
}

std::string readable_path(const std::string& path) { return path == "-" ? "/dev/stdin" : path; }
std::string text_name(const std::string& path) { return name_of_text(readable_path(path)); }

void require_equal_lines(const std::string& path, size_t lines, const std::string& other, size_t other_lines) {
  require(lines == other_lines, "{} has {} and {} has {}; line n of both must belong to the same text",
          text_name(path), counted(lines, "line"), text_name(other), other_lines);
}

std::string markdown_cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '<') result += '\\';
    result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

bool next_line(LineReader& reader, std::string& line) {
  do check_interrupt();
  while (!reader.ready(std::chrono::milliseconds(50)));
  return reader.next(line);
}

std::vector<std::string> LineBlocks::next(size_t max_lines) {
  size_t bytes = 0;
  const auto read = [&](std::string& line) {
    if (!reader_.next(line)) return false;
    make_valid(line, reader_, invalid_);
    bytes += line.size();
    return true;
  };
  return blocks_.next(reader_, read, [&](const std::vector<std::string>& lines) {
    return lines.size() >= max_lines || bytes >= max_bytes_at_once;
  });
}

/// Compresses text to one gzip member, without name and time, so that the same text gives the same bytes.
class TextOutput::Gzip {
 public:
  Gzip() {
    constexpr int gzip_window = 15 + 16, memory = 8;  // the largest window with gzip's header; zlib's default
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) !=
        Z_OK)
      throw std::bad_alloc();
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  /// Compresses the text and, if `last`, ends the member.
  void write(std::string_view text, bool last, AtomicFile& file) {
    constexpr size_t max_part = 1 << 30;  // zlib counts in 32 bits
    do {
      const std::string_view part = text.substr(0, max_part);
      text.remove_prefix(part.size());
      deflate_part(part, last && text.empty(), file);
    } while (!text.empty());
  }

 private:
  void deflate_part(std::string_view part, bool last, AtomicFile& file) {
    char packed[1 << 14];
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream_.avail_in = static_cast<uInt>(part.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(packed);
      stream_.avail_out = sizeof packed;
      deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
      file.write(std::string_view(packed, sizeof packed - stream_.avail_out));
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
};

TextOutput::TextOutput(const std::string& path, const std::vector<std::string>& inputs) {
  require_output_file(path, inputs);
  if (path == "-") return;
  note_interrupts();
  file_.emplace(path);
  if (path.ends_with(".gz")) gzip_ = std::make_unique<Gzip>();
}

TextOutput::~TextOutput() = default;

void TextOutput::write(std::string_view text) {
  if (file_) check_interrupt();
  if (gzip_)
    gzip_->write(text, false, *file_);
  else if (file_)
    file_->write(text);
  else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    throw_output_error(errno);
}

void TextOutput::write_line(std::string text) { write(one_line(std::move(text)) + '\n'); }

void TextOutput::flush() {
  if (!file_) flush_standard_output();
}

void TextOutput::close() {
  if (!file_) return flush_standard_output();
  check_interrupt();
  if (gzip_) gzip_->write({}, true, *file_);
  file_->commit();
}

void flush_standard_output() {
  errno = 0;
  std::cout.flush();
  const bool succeeded = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (!succeeded) throw_output_error(errno);
}

void print_and_exit(const std::string& text) {
  std::cout << text;
  flush_standard_output();
  std::exit(0);
}

}  // namespace sixfold::cli
