// The routes for operators of a server: health, readiness, version, metrics and the description of the API.
#include "serve/http/json_text.h"
#include "serve/http/page_files.h"
#include "serve/service.h"

namespace sixfold::serve {

std::vector<Route> operation_routes(Service& service) {
  using Json = nlohmann::ordered_json;
  Service* const s = &service;
  const auto route = [](const char* path, auto answer) {
    return Route{"GET", path,
                 [answer](const HttpRequest& request, const std::string&) { return answer(request); },
                 libretranslate_error_body, /*is_public=*/true};
  };
  const auto constant = [&](const char* path, const char* name, const char* value) {
    return route(
        path, [body = json_text(Json{{name, value}})](const HttpRequest&) { return HttpAnswer{.body = body}; });
  };
  return {constant("/health", "status", "ok"), constant("/ready", "status", "ready"),
          constant("/version", "version", SIXFOLD_VERSION),
          route("/metrics",
                [s](const HttpRequest&) {
                  return HttpAnswer{.content_type = "text/plain; version=0.0.4", .body = s->metrics_text()};
                }),
          route("/spec", [](const HttpRequest& request) { return page_file(request, "openapi.json"); })};
}

HttpAnswer answer_before_ready(const HttpRequest& request) {
  if (request.path == "/health") return {.body = R"({"status":"ok"})"};
  return refusal(request.path, {503, "The server is loading its models.", 1});
}

}  // namespace sixfold::serve
