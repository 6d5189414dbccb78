#include "serve/library_request.h"

#include <algorithm>

#include "base/ascii.h"

namespace sixfold::serve {
namespace {

constexpr size_t most_form_parts = 4096;

/// The path of a target, which clients of proxies send with the server's name (RFC 9112, 3.2.2).
std::string path_of(const std::string& target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const size_t begin = target.find('/', scheme.size());
    return begin == target.npos ? "/" : target.substr(begin);
  }
  return target;
}

}  // namespace

HttpRequest request_of(const httplib::Request& from) {
  HttpRequest request;
  request.method = from.method;
  request.path = path_of(from.path);
  request.address = from.remote_addr;
  const std::string_view target = from.target;
  if (const size_t mark = target.find('?'); mark != target.npos) {
    const std::string_view query = target.substr(mark + 1);
    request.query = parse_form(query.substr(0, query.find('#')));
  }
  for (const auto& [name, value] : from.headers) request.headers.emplace(ascii_lower(name), value);
  return request;
}

void name_boundary(httplib::Request& request) {
  const auto type = request.headers.find("Content-Type");
  if (type == request.headers.end() || !ascii_lower(type->second).starts_with("multipart/form-data")) return;
  const std::string name = "boundary=";
  const size_t at = ascii_lower(type->second).find(name);
  if (at == std::string::npos) return;
  std::string boundary = type->second.substr(at + name.size());
  const bool quoted = boundary.starts_with('"');
  if (quoted) boundary.erase(0, 1);
  boundary.resize(std::min(boundary.find_first_of(quoted ? "\"" : "; \t"), boundary.size()));
  type->second = "multipart/form-data; boundary=" + boundary;
}

bool BodyRoom::grow(size_t bytes) {
  const auto grow = [&] { return share_.grow(bytes); };
  if (!grow() && !connections_.make_room_for_body(own_, grow)) return false;
  own_.holds(share_.amount());
  return true;
}

bool BodyRoom::take(size_t bytes) {
  if (lack_ != Lack::none) return false;
  if (bytes > left_)
    lack_ = Lack::too_large;
  else if (!grow(bytes))
    lack_ = Lack::server_full;
  else
    left_ -= bytes;
  return lack_ == Lack::none;
}

bool read_body(const httplib::ContentReader& content, BodyRoom& room, HttpRequest& request) {
  return content([&](const char* data, size_t size) {
    if (room.take(size)) request.body.append(data, size);
    return room.lack() == BodyRoom::Lack::none;
  });
}

bool read_form(const httplib::ContentReader& content, BodyRoom& room, HttpRequest& request) {
  std::vector<Upload> all;
  const bool complete = content(
      [&](const httplib::MultipartFormData& part) {
        if (all.size() == most_form_parts) room.refuse();
        all.push_back({part.name, part.filename, part.content_type, ""});
        return room.lack() == BodyRoom::Lack::none;
      },
      [&](const char* data, size_t size) {
        if (all.empty()) room.refuse();
        if (room.take(size)) all.back().content.append(data, size);
        return room.lack() == BodyRoom::Lack::none;
      });
  for (Upload& part : all) {
    if (part.file_name.empty())
      request.form.emplace(part.field, part.content);
    else
      request.files.push_back(std::move(part));
  }
  return complete;
}

}  // namespace sixfold::serve
