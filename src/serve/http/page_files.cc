#include "serve/http/page_files.h"

#include <algorithm>

#include "base/hash.h"

namespace sixfold::serve {
namespace {

std::string type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".json")) return "application/json";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/javascript; charset=utf-8";
}

}  // namespace

HttpAnswer page_file(const HttpRequest& request, std::string_view name) {
  const auto files = page_files();
  const auto file = std::ranges::find(files, name, &PageFile::name);
  if (file == files.end()) throw HttpError(404, "there is no such page");
  const std::string tag = '"' + hash_hex(file->content) + '"';
  const bool known = request.header("if-none-match").find(tag) != std::string::npos;
  return {.status = known ? 304 : 200,
          .content_type = type_of(name),
          .body = known ? "" : std::string(file->content),
          .headers = {{"ETag", tag},
                      {"Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}}};
}

}  // namespace sixfold::serve
