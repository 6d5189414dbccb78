#pragma once
#include <string>

#include "serve/http.h"
#include "serve/http_library.h"

namespace sixfold::serve {

/// Text with the letters of ASCII in lower case.
std::string lower(std::string text);

/// A request of the library without its body and its stop token.
HttpRequest request_of(const httplib::Request& from);

/// The library takes all that follows "boundary=" for the boundary of a form, so that it must be the last
/// parameter of the type.
void name_boundary(httplib::Request& request);

/// Reads a body, which the library decompresses. Returns false if it is too large, cut off or broken.
bool read_body(const httplib::ContentReader& content, size_t most, HttpRequest& request, bool& too_large);

/// Reads the parts of multipart/form-data in the same way.
bool read_form(const httplib::ContentReader& content, size_t most, HttpRequest& request, bool& too_large);

}  // namespace sixfold::serve
