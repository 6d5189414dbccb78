#pragma once
#include <string>

#include "serve/http/http.h"

namespace sixfold::serve {

/// How a face writes errors.
using ErrorBody = std::string (*)(int status, const std::string& message);

/// {"error": {"message": ..., "type": ..., "param": null, "code": the status}}
std::string openai_error_body(int status, const std::string& message);
/// {"message": ...}
std::string deepl_error_body(int status, const std::string& message);
/// {"error": ...}
std::string libretranslate_error_body(int status, const std::string& message);

/// How the interface that a path belongs to writes errors.
ErrorBody error_body_of(const std::string& path);

/// The answer that tells an error, in the form of a face.
HttpAnswer error_answer(ErrorBody body, const HttpError& error);

/// The answer to a request that is refused before a route sees it, in the form of the face that its path
/// belongs to.
HttpAnswer refusal(const std::string& path, const HttpError& error);

}  // namespace sixfold::serve
