#pragma once
#include <string>

#include "serve/http/http.h"

namespace sixfold::serve {

/// Writes an error as the body of an answer, in the form of one interface of the server.
using ErrorBody = std::string (*)(int status, const std::string& message);

/// {"error": {"message": ..., "type": ..., "param": null, "code": the status}}
std::string openai_error_body(int status, const std::string& message);
/// {"message": ...}
std::string deepl_error_body(int status, const std::string& message);
/// {"error": ...}
std::string libretranslate_error_body(int status, const std::string& message);

/// The form of errors of the interface to which a path belongs.
ErrorBody error_body_of(const std::string& path);

/// The answer that reports an error, with the given form of the body.
HttpAnswer error_answer(ErrorBody body, const HttpError& error);

/// The answer to a request that is refused before it is passed to a route, in the form of the interface to
/// which its path belongs.
HttpAnswer refusal(const std::string& path, const HttpError& error);

}  // namespace sixfold::serve
