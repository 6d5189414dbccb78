#include <fmt/ranges.h>

#include <algorithm>

#include "base/ascii.h"
#include "serve/api/any_language.h"
#include "serve/api/libretranslate.h"
#include "serve/http/json_text.h"
#include "text/utf8.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr DocumentFormat plain_text{".txt", TextKind::plain, "text/plain; charset=utf-8"};

/// The format of a file by the extension of its name.
const DocumentFormat& format_of(const std::string& name) {
  const std::string extension = ascii_lower(name.substr(std::min(name.rfind('.'), name.size())));
  if (extension == plain_text.extension) return plain_text;
  for (const DocumentFormat& format : document_formats())
    if (extension == format.extension) return format;
  throw HttpError(400, fmt::format("Files of the kind '{}' can't be translated; those that can end in {}.",
                                   extension, fmt::join(file_extensions(), ", ")));
}

/// Whether a text is a name or an address of a host, optionally with a port: "example.org:70", "[::1]".
bool is_host(std::string_view text) {
  const auto only = [](std::string_view part, std::string_view more) {
    return !part.empty() && std::ranges::all_of(part, [&](char c) {
      return is_ascii_letter(c) || is_ascii_digit(c) || more.find(c) != more.npos;
    });
  };
  const size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == text.npos) return false;
  const size_t colon = std::min(text.find(':', bracket), text.size());
  const std::string_view host = text.substr(0, colon), port = text.substr(colon);
  if (!port.empty() &&
      (port.size() < 2 || port.size() > 6 || !std::ranges::all_of(port.substr(1), is_ascii_digit)))
    return false;
  if (bracket == 0) return only(host, "-._");
  return host.ends_with(']') && only(host.substr(1, host.size() - 2), ":.%");
}

/// The URL of a path, with the host under which the client has reached this server; only the path if the
/// request has no valid Host.
std::string url_of(const HttpRequest& request, const std::string& path) {
  const std::string host = request.header("host");
  if (!is_host(host)) return path;
  return (request.header("x-forwarded-proto") == "https" ? "https://" : "http://") + host + path;
}

HttpAnswer translate_file(Service& service, const HttpRequest& request) {
  const Fields fields(request);
  const auto upload = std::find_if(request.files.begin(), request.files.end(),
                                   [](const Upload& part) { return part.field == "file"; });
  if (upload == request.files.end() || request.files.size() != 1)
    throw HttpError(400, "Send one file, as \"file\" of multipart/form-data.");
  const DocumentFormat& format = format_of(upload->file_name);
  std::string content = upload->content;
  if (first_invalid_utf8(content) || content.find('\0') != content.npos)
    throw HttpError(400, "The file is not valid UTF-8, or has a NUL.");
  const std::string_view byte_order_mark = "\uFEFF";
  const bool has_mark = format.kind == TextKind::plain && content.starts_with(byte_order_mark);
  if (has_mark) content.erase(0, byte_order_mark.size());
  const std::string source = source_of(fields);
  const std::vector<TranslatedInput> answers = translate_from_any(
      service,
      {.texts = {std::move(content)},
       .source = source == "auto" ? "" : source,
       .target = fields.required_text("target"),
       .options = {.kind = format.kind,
                   .translation = {.caller = service.scheduling_key(request), .cancel = request.cancel},
                   .client = service.client_of(request)}});
  const std::string name = service.files().add(
      std::string(has_mark ? byte_order_mark : "") + answers.front().text, std::string(format.extension));
  HttpAnswer answer{.body = json_text(Json{{"translatedFileUrl", url_of(request, "/download_file/" + name)}})};
  add_cut_header(answer, answers);
  return answer;
}

HttpAnswer download(Service& service, const std::string& name) {
  std::string content = service.files().find(name);
  const DocumentFormat& format = format_of(name);
  return {.content_type = format.content_type,
          .body = std::move(content),
          .headers = {
              {"Content-Disposition", fmt::format("attachment; filename=\"translation{}\"", format.extension)},
              {"X-Content-Type-Options", "nosniff"}}};
}

HttpAnswer suggest(Service& service, const HttpRequest& request) {
  if (!service.suggestions().enabled()) throw HttpError(403, "This server takes no suggestions.");
  const Fields fields(request);
  Json suggestion;
  for (const char* name : {"q", "s", "source", "target"}) {
    const std::string text = fields.required_text(name);
    if (text.size() > service.options().max_text_bytes)
      throw HttpError(413, fmt::format("\"{}\" has {} bytes; at most {} are allowed.", name, text.size(),
                                       service.options().max_text_bytes));
    suggestion[name] = text;
  }
  required_pair(service, suggestion["source"], suggestion["target"]);
  service.suggestions().add(json_text(suggestion));
  return {.body = json_text(Json{{"success", true}})};
}

}  // namespace

std::vector<std::string> file_extensions() {
  std::vector<std::string> all{std::string(plain_text.extension)};
  for (const DocumentFormat& format : document_formats()) all.emplace_back(format.extension);
  return all;
}

std::vector<Route> libretranslate_file_routes(Service& service) {
  Service* const s = &service;
  return {
      {"POST", "/translate_file",
       [s](const HttpRequest& request, const std::string&) { return translate_file(*s, request); },
       libretranslate_error_body},
      {"GET", "/download_file/*",
       [s](const HttpRequest&, const std::string& name) { return download(*s, name); },
       libretranslate_error_body, /*is_public=*/true},
      {"POST", "/suggest", [s](const HttpRequest& request, const std::string&) { return suggest(*s, request); },
       libretranslate_error_body}};
}

}  // namespace sixfold::serve
