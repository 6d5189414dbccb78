#include "cli/text_io.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <system_error>

#include "base/error.h"
#include "cli/interrupt.h"
#include "cli/named_option.h"
#include "model/ownership.h"

namespace sixfold::cli {
namespace {

/// True if nobody reads standard output any more; std::cout does not keep the reason of a failed write.
bool reader_has_gone() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

[[noreturn]] void throw_output_error(int reason) {
  if (reader_has_gone()) throw std::system_error(EPIPE, std::generic_category(), "standard output");
  throw_world_error("can't write to standard output: {}",
                    reason ? std::strerror(reason) : "some of it was lost");
}

}  // namespace

void add_text_options(CLI::App& command, TextPaths& paths) {
  command.add_option("-i,--input", paths.input, "file to read, plain or gzipped; - is standard input")
      ->type_name("FILE")
      ->capture_default_str();
  command
      .add_option("-o,--output", paths.output,
                  "file to write, which appears once it is whole; - is standard output")
      ->type_name("FILE")
      ->capture_default_str();
  add_named_option(command, "--invalid-utf8", paths.invalid,
                   "lines that are not valid UTF-8: error, replace (with U+FFFD) or skip (as empty) [error]");
}

std::string readable_path(const std::string& path) { return path == "-" ? "/dev/stdin" : path; }

bool next_line(LineReader& reader, std::string& line) {
  do check_interrupt();
  while (!reader.ready(std::chrono::milliseconds(50)));
  return reader.next(line);
}

TextOutput::TextOutput(const std::string& path, const std::vector<std::string>& inputs) {
  require_output_file(path, inputs);
  if (path == "-") return;
  note_interrupts();
  file_.emplace(path);
}

void TextOutput::write(std::string_view text) {
  if (file_) check_interrupt();
  if (file_)
    file_->write(text);
  else if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    throw_output_error(errno);
}

void TextOutput::flush() {
  if (!file_) flush_standard_output();
}

void TextOutput::close() {
  if (!file_) return flush_standard_output();
  check_interrupt();
  file_->commit();
}

void flush_standard_output() {
  errno = 0;
  std::cout.flush();
  const bool whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (!whole) throw_output_error(errno);
}

}  // namespace sixfold::cli
