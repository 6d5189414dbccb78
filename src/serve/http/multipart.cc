#include "serve/http/multipart.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace sixfold::serve {
namespace {

constexpr size_t max_parts = 4096;
constexpr size_t max_part_header_bytes = 4096;  // bytes of the headers of a part
constexpr size_t max_boundary_bytes = 70;       // RFC 2046, 5.1.1

/// Returns what precedes the first `end`, and removes it from `text` together with `end`; if there is no `end`,
/// returns and removes the whole text.
std::string_view take(std::string_view& text, std::string_view end) {
  const std::string_view before = text.substr(0, text.find(end));
  text.remove_prefix(std::min(before.size() + end.size(), text.size()));
  return before;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// Returns the value of a parameter, which may be in quotes, and removes it and the semicolon after it from
/// `text`.
std::string take_value(std::string_view& text) {
  if (!text.starts_with('"')) return std::string(trimmed(take(text, ";")));
  std::string value;
  size_t i = 1;
  for (; i < text.size() && text[i] != '"'; ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '"' || text[i + 1] == '\\')) ++i;
    value += text[i];
  }
  text.remove_prefix(i);
  take(text, ";");
  return value;
}

HttpError not_a_form(const std::string& why) { return {400, "The form (multipart/form-data) " + why + "."}; }

/// The name of a file. Some clients also send it with its encoding (RFC 8187), which is then preferred:
/// UTF-8''%C3%A4.txt
std::string file_name_of(std::string_view disposition) {
  if (const auto encoded = header_parameter(disposition, "filename*")) {
    const std::string_view encoding = "utf-8''";
    if (ascii_lower(*encoded).starts_with(encoding)) return percent_decoded(encoded->substr(encoding.size()));
  }
  return header_parameter(disposition, "filename").value_or("");
}

/// The part that the headers `head` describe, without its content.
Upload part_of(std::string_view head) {
  std::string_view disposition, type;
  while (!head.empty()) {
    std::string_view line = take(head, "\r\n");
    const std::string name = ascii_lower(take(line, ":"));
    if (name == "content-disposition") disposition = trimmed(line);
    if (name == "content-type") type = trimmed(line);
  }
  const auto field = header_parameter(disposition, "name");
  if (!ascii_lower(disposition).starts_with("form-data") || !field)
    throw not_a_form("has a part without a Content-Disposition that names its field");
  return {.field = *field, .file_name = file_name_of(disposition), .content_type = std::string(type)};
}

void add(HttpRequest& request, Upload part) {
  if (part.file_name.empty())
    request.form.emplace(std::move(part.field), std::move(part.content));
  else
    request.files.push_back(std::move(part));
}

}  // namespace

std::optional<std::string> header_parameter(std::string_view header, std::string_view name) {
  take(header, ";");
  while (!header.empty()) {
    const std::string_view found = trimmed(header.substr(0, header.find_first_of("=;")));
    const bool has_value = header.substr(std::min(header.find_first_of("=;"), header.size())).starts_with('=');
    take(header, has_value ? "=" : ";");
    header.remove_prefix(std::min(header.find_first_not_of(" \t"), header.size()));
    if (!has_value) continue;
    std::string value = take_value(header);
    if (ascii_lower(found) == name) return value;
  }
  return {};
}

/// A boundary contains no line end, so that the search for a line end and a boundary reads each byte at most
/// twice.
void read_multipart(HttpRequest& request) {
  const std::string boundary = header_parameter(request.header("content-type"), "boundary").value_or("");
  if (boundary.empty() || boundary.size() > max_boundary_bytes) throw not_a_form("has no boundary");
  const std::string delimiter = "\r\n--" + boundary;
  std::string body = std::exchange(request.body, {});
  body.insert(0, "\r\n");
  std::string_view rest = body;
  take(rest, delimiter);
  for (size_t parts = 0; !rest.starts_with("--"); ++parts) {
    if (parts == max_parts) throw HttpError(413, "A form has " + std::to_string(max_parts) + " parts at most.");
    take(rest, "\r\n");  // spaces may follow a boundary
    const size_t head = rest.substr(0, max_part_header_bytes).find("\r\n\r\n");
    if (head == rest.npos) throw not_a_form("has a part whose headers do not end, or no end");
    Upload part = part_of(rest.substr(0, head));
    rest.remove_prefix(head + 4);
    const size_t end = rest.find(delimiter);
    if (end == rest.npos) throw not_a_form("has no end");
    part.content = rest.substr(0, end);
    rest.remove_prefix(end + delimiter.size());
    add(request, std::move(part));
  }
}

}  // namespace sixfold::serve
