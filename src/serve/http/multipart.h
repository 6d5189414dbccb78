#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "serve/http/http.h"

namespace sixfold::serve {

/// The value of a parameter of a header such as `form-data; name="a"; filename="b.txt"`, or nothing. The case
/// of `name` does not count. Takes time proportional to the header.
std::optional<std::string> header_parameter(std::string_view header, std::string_view name);

/// Reads the body of multipart/form-data (RFC 7578) into the fields and files of the request, and leaves it
/// empty. Throws an `HttpError`: 400 if it is no such body, 413 for more than 4,096 parts.
void read_multipart(HttpRequest& request);

}  // namespace sixfold::serve
