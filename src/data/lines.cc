#include "data/lines.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

constexpr std::string_view gzip_mark = "\x1f\x8b";
constexpr std::string_view standard_input = "/dev/stdin";
constexpr size_t chunk_bytes = 1 << 18;

/// Standard input is read through its descriptor: the process may not be allowed to open it again. A named pipe
/// is opened at once, though it may have no writer yet: `LineReader` waits for the first bytes.
int open_text(const std::string& path) {
  if (path == standard_input) return ::dup(STDIN_FILENO);
  std::error_code unknown;
  const bool pipe = std::filesystem::is_fifo(path, unknown);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (pipe ? O_NONBLOCK : 0));
  if (pipe && descriptor >= 0) ::fcntl(descriptor, F_SETFL, 0);  // from now on reads wait
  return descriptor;
}

/// Waits until a read returns bytes or the end. Otherwise a read from a named pipe that no program has opened
/// for writing yet would return the end.
void wait_for_bytes(int descriptor) {
  pollfd input{.fd = descriptor, .events = POLLIN, .revents = 0};
  while (::poll(&input, 1, -1) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void throw_read_error(const std::string& path, int reason) {
  throw_environment_error("{}: can't be read: {}", path, std::strerror(reason));
}

/// Appends the result of one read call, up to a chunk. Returns false at the end.
bool read_some(int descriptor, const std::string& path, std::string& bytes) {
  const size_t kept = bytes.size();
  bytes.resize(kept + chunk_bytes);
  ssize_t read;
  while ((read = ::read(descriptor, bytes.data() + kept, chunk_bytes)) < 0 &&
         (errno == EINTR || errno == EAGAIN))
    if (errno == EAGAIN) wait_for_bytes(descriptor);  // another program has made standard input non-blocking
  const int reason = errno;
  bytes.resize(kept + static_cast<size_t>(std::max<ssize_t>(read, 0)));
  if (read < 0) throw_read_error(path, reason);
  return read > 0;
}

}  // namespace

/// Decompresses gzip of one or several members, perhaps followed by zero bytes, which GNU gzip ignores too.
class LineReader::Gunzip {
 public:
  Gunzip() {
    constexpr int gzip_window = 15 + 16;  // the largest window, with gzip's header
    if (inflateInit2(&stream_, gzip_window) != Z_OK) throw std::bad_alloc();
  }
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Appends the decompressed bytes. Returns false if the data are damaged.
  bool append(std::string_view packed, std::string& text) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    bool full = false;  // whether the output buffer was filled: zlib may have more output
    while (stream_.avail_in > 0 || full) {
      while (complete_ && stream_.avail_in > 0 && *stream_.next_in == 0) ++stream_.next_in, --stream_.avail_in;
      if (stream_.avail_in == 0 && !full) break;
      if (complete_) inflateReset(&stream_);
      const size_t kept = text.size();
      text.resize(kept + chunk_bytes);
      stream_.next_out = reinterpret_cast<Bytef*>(text.data() + kept);
      stream_.avail_out = chunk_bytes;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      text.resize(text.size() - stream_.avail_out);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) return false;
      complete_ = status == Z_STREAM_END;
      full = !complete_ && stream_.avail_out == 0;
    }
    return true;
  }

  /// Whether the last member is complete.
  bool complete() const { return complete_; }

 private:
  z_stream stream_{};
  bool complete_ = false;
};

std::string name_of_text(const std::string& path) { return path == standard_input ? "standard input" : path; }

void require_readable(const std::string& path) {
  if (path == standard_input) return;
  if (::access(path.c_str(), R_OK) != 0) throw_input_error("{}: can't be read: {}", path, std::strerror(errno));
  std::error_code ignored;
  require(!std::filesystem::is_directory(path, ignored), "{}: is a folder; give a text file", path);
}

LineReader::LineReader(const std::string& path, ByteOrderMark mark) : path_(name_of_text(path)), mark_(mark) {
  require_readable(path);
  descriptor_ = open_text(path);
  if (descriptor_ < 0) throw_environment_error("{}: can't be opened: {}", path_, std::strerror(errno));
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) file_bytes_ = status.st_size;
}

LineReader::~LineReader() { ::close(descriptor_); }

/// Reads more text, perhaps less than a line. Returns false at the end.
bool LineReader::fill() {
  buffer_.erase(0, used_);
  used_ = 0;
  std::string packed;
  std::string& bytes = gunzip_ ? packed : buffer_;
  const size_t before = bytes.size();
  if (!begun_) wait_for_bytes(descriptor_);
  ended_ = !read_some(descriptor_, path_, bytes);
  bytes_read_ += static_cast<int64_t>(bytes.size() - before);
  if (!begun_) {  // two bytes show whether it is gzipped; a pipe may return only one at first
    begun_ = true;
    while (!ended_ && buffer_.size() == 1 && gzip_mark.starts_with(buffer_))
      ended_ = !read_some(descriptor_, path_, buffer_);
    if (buffer_.starts_with(gzip_mark)) {
      gunzip_ = std::make_unique<Gunzip>();
      packed.swap(buffer_);
    }
  }
  if (gunzip_)
    require(gunzip_->append(packed, buffer_) && (!ended_ || gunzip_->complete()),
            "{}: the gzip stream is damaged or truncated after line {}", path_, line_number_);
  return !ended_;
}

/// The place of the next line end in the buffer, or npos.
size_t LineReader::line_end() {
  const size_t end = buffer_.find('\n', used_ + searched_);
  searched_ = std::min(end, buffer_.size()) - used_;
  return end;
}

bool LineReader::next(std::string& line) {
  size_t end;
  while ((end = line_end()) == buffer_.npos) {
    if (!ended_ && fill()) continue;
    if (used_ == buffer_.size()) return false;
    end = buffer_.size();
    break;
  }
  std::string_view text(buffer_.data() + used_, end - used_);
  used_ = std::min(end + 1, buffer_.size());
  searched_ = 0;
  if (line_number_++ == 0 && mark_ == ByteOrderMark::drop && text.starts_with(byte_order_mark))
    text.remove_prefix(byte_order_mark.size());
  if (text.ends_with('\r')) text.remove_suffix(1);
  line = text;
  return true;
}

bool LineReader::at_end() {
  while (used_ == buffer_.size() && !ended_ && fill()) {
  }
  return used_ == buffer_.size();
}

std::string LineReader::rest() {
  while (!ended_ && fill()) {
  }
  searched_ = 0;
  return std::exchange(buffer_, {}).substr(std::exchange(used_, 0));
}

std::string LineReader::next_part() {
  at_end();  // waits for input
  searched_ = 0;
  return std::exchange(buffer_, {}).substr(std::exchange(used_, 0));
}

bool LineReader::ready(std::chrono::milliseconds timeout) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds min_wait{20};  // enough to read the bytes that are already there
  const auto end = Clock::now() + std::max(timeout, min_wait);
  while (!ended_ && line_end() == buffer_.npos) {
    pollfd input{.fd = descriptor_, .events = POLLIN, .revents = 0};
    if (Clock::now() > end || ::poll(&input, 1, static_cast<int>(timeout.count())) <= 0) return false;
    fill();
  }
  return true;
}

double LineReader::fraction_read() const {
  if (file_bytes_ == 0) return 0;
  const int64_t ahead = gunzip_ ? 0 : static_cast<int64_t>(buffer_.size() - used_);
  return std::min(1.0, static_cast<double>(bytes_read_ - ahead) / static_cast<double>(file_bytes_));
}

std::string LineReader::place() const { return fmt::format("{}:{}", path_, line_number_); }

std::optional<std::string> fault_of_text(std::string_view line) {
  if (const auto bad = first_invalid_utf8(line)) return fmt::format("byte {} is not valid UTF-8", *bad + 1);
  const size_t nul = line.find('\0');
  if (nul == line.npos) return std::nullopt;
  return fmt::format("byte {} is NUL, which is not a character of text (the file may be in UTF-16)", nul + 1);
}

std::string replace_faults(std::string_view line) { return replace_nul(replace_invalid_utf8(line)); }

void make_valid(std::string& line, const LineReader& reader, InvalidUtf8 invalid) {
  const auto fault = fault_of_text(line);
  if (!fault) return;
  switch (invalid) {
    case InvalidUtf8::error:
      throw_input_error(
          "{}: {}; convert the text, or choose --invalid-utf8 replace or skip (in training data.invalid_utf8)",
          reader.place(), *fault);
    case InvalidUtf8::replace:
      line = replace_faults(line);
      return;
    case InvalidUtf8::skip:
      line.clear();
      return;
  }
  throw_unknown("way to treat invalid text", invalid);
}

std::vector<std::string> read_lines(const std::string& path, InvalidUtf8 invalid, ByteOrderMark mark) {
  std::vector<std::string> lines;
  LineReader reader(path, mark);
  for (std::string line; reader.next(line);) {
    make_valid(line, reader, invalid);
    lines.push_back(line);
  }
  return lines;
}

}  // namespace sixfold
