#include "serve/refusal.h"

#include "serve/deepl.h"
#include "serve/libretranslate.h"
#include "serve/openai.h"

namespace sixfold::serve {

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
