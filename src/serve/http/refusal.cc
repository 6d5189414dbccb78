#include "serve/http/refusal.h"

#include <nlohmann/json.hpp>

#include "serve/http/json_text.h"

namespace sixfold::serve {

using Json = nlohmann::ordered_json;

std::string openai_error_body(int status, const std::string& message) {
  const char* type = status == 401 || status == 403 ? "authentication_error"
                     : status == 429                ? "rate_limit_error"
                     : status >= 500                ? "server_error"
                                                    : "invalid_request_error";
  return json_text(
      Json{{"error", {{"message", message}, {"type", type}, {"param", nullptr}, {"code", status}}}});
}

std::string deepl_error_body(int, const std::string& message) { return json_text(Json{{"message", message}}); }

std::string libretranslate_error_body(int, const std::string& message) {
  return json_text(Json{{"error", message}});
}

ErrorBody error_body_of(const std::string& path) {
  if (path.starts_with("/v1/")) return openai_error_body;
  return path.starts_with("/v2/") || path.starts_with("/v3/") ? deepl_error_body : libretranslate_error_body;
}

HttpAnswer error_answer(ErrorBody body, const HttpError& error) {
  HttpAnswer answer{.status = error.status(), .body = body(error.status(), error.what())};
  if (error.retry_after()) answer.headers.emplace_back("Retry-After", std::to_string(*error.retry_after()));
  return answer;
}

HttpAnswer refusal(const std::string& path, const HttpError& error) {
  return error_answer(error_body_of(path), error);
}

}  // namespace sixfold::serve
