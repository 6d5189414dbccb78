#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "serve/http/http.h"

namespace sixfold::serve {

/// The value of a parameter of a header such as `form-data; name="a"; filename="b.txt"`, or nothing. The
/// comparison of names ignores case. Takes time proportional to the header.
std::optional<std::string> header_parameter(std::string_view header, std::string_view name);

/// Moves the body of a multipart/form-data request (RFC 7578) to the fields and files of the request, so that
/// the body is empty. Throws an `HttpError`: 400 if the body is not valid, 413 for more than 4,096 parts.
void read_multipart(HttpRequest& request);

}  // namespace sixfold::serve
