#include "serve/http/access_log.h"

#include <fmt/chrono.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "model_folder/ownership.h"

namespace sixfold::serve {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text)
    if (c > ' ' && c < 127 && c != '"' && c != '\\')
      result += c;
    else
      result += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
  return result;
}

/// Throws an input error if a log can't be appended to the file: because it is a pipe, whose reader could block
/// the server, or because it contains something else than an access log. Returns whether its last line is
/// incomplete.
bool require_log_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || S_ISCHR(status.st_mode)) return false;
  require(S_ISREG(status.st_mode), "access_log: {} is not a regular file", path);
  if (status.st_size == 0) return false;
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  require(text.substr(0, text.find('\n')).find(" - - [") != text.npos,
          "access_log: {} has other lines than those of an access log; give the name of another file", path);
  return text.back() != '\n';
}

}  // namespace

AccessLog::AccessLog(const std::string& path) {
  if (path == "-") return;
  require_output_file(path, {});
  const bool is_incomplete = require_log_file(path);
  file_.emplace(path);
  if (is_incomplete) file_->append("\n");
}

void AccessLog::add(const AnsweredRequest& request) try {
  const std::string line = access_line(request);
  if (file_)
    file_->append(line + "\n");
  else
    log_line(line);
} catch (const std::exception& error) {
  if (const auto lost = lost_lines_.add(1))
    log_warning("{} missing in the access log: {}", counted(*lost, "line is", "lines are"), error.what());
}

std::string access_line(const AnsweredRequest& request) {
  const std::string line = request.method.empty()
                               ? "-"
                               : fmt::format("{} {} HTTP/1.{}", escaped(request.method), escaped(request.path),
                                             request.is_http_1_1 ? 1 : 0);
  const auto end = fmt::gmtime(std::chrono::system_clock::to_time_t(request.end));
  return fmt::format("{} - - [{:%d/%b/%Y:%H:%M:%S} +0000] \"{}\" {} {} {:.3f}", request.address, end, line,
                     request.status, request.body_bytes, request.seconds);
}

}  // namespace sixfold::serve
