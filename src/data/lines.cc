#include "data/lines.h"

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

constexpr std::string_view byte_order_mark = "\uFEFF";
constexpr unsigned chunk_bytes = 1 << 18;

gzFile gz(void* file) { return static_cast<gzFile>(file); }

}  // namespace

void LineReader::Close::operator()(void* file) const { gzclose(gz(file)); }

void require_readable(const std::string& path) {
  require(::access(path.c_str(), R_OK) == 0, "{}: can't be read: {}", path, std::strerror(errno));
  std::error_code ignored;
  require(!std::filesystem::is_directory(path, ignored), "{}: is a folder; give a text file", path);
}

LineReader::LineReader(const std::string& path) : path_(path) {
  require_readable(path);
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) throw_world_error("{}: can't be opened: {}", path, std::strerror(errno));
  gzbuffer(gz(file_.get()), chunk_bytes);
}

bool LineReader::fill() {
  buffer_.erase(0, used_);
  used_ = 0;
  const size_t kept = buffer_.size();
  buffer_.resize(kept + chunk_bytes);
  const int read = gzread(gz(file_.get()), buffer_.data() + kept, chunk_bytes);
  buffer_.resize(kept + std::max(read, 0));
  int status = Z_OK;
  const char* message = gzerror(gz(file_.get()), &status);
  if (status == Z_ERRNO) throw_world_error("{}: can't be read: {}", path_, std::strerror(errno));
  require(status == Z_OK || status == Z_STREAM_END,
          "{}: the gzip stream is damaged or cut off after line {} ({})", path_, line_number_, message);
  return read > 0;
}

bool LineReader::next(std::string& line) {
  size_t end, searched = used_;
  while ((end = buffer_.find('\n', searched)) == buffer_.npos) {
    searched = buffer_.size() - used_;
    if (fill()) continue;
    if (buffer_.empty()) return false;
    end = buffer_.size();
    break;
  }
  std::string_view text(buffer_.data() + used_, end - used_);
  used_ = std::min(end + 1, buffer_.size());
  if (line_number_++ == 0 && text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  if (text.ends_with('\r')) text.remove_suffix(1);
  line = text;
  return true;
}

std::string LineReader::place() const { return fmt::format("{}:{}", path_, line_number_); }

std::vector<std::string> read_lines(const std::string& path, InvalidUtf8 invalid) {
  std::vector<std::string> lines;
  LineReader reader(path);
  for (std::string line; reader.next(line);) {
    if (const auto bad = first_invalid_utf8(line)) {
      require(invalid != InvalidUtf8::error, "{}: byte {} is not valid UTF-8", reader.place(), *bad + 1);
      line = invalid == InvalidUtf8::replace ? replace_invalid_utf8(line) : "";
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace sixfold
