#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "serve/http/http.h"

namespace sixfold::serve {

/// A file of src/serve/page, compiled into the program.
struct PageFile {
  std::string_view name, content;
};

/// All files of src/serve/page.
std::span<const PageFile> page_files();

/// Answers with a file of a page, or with status 304 if the client has it already. Throws an `HttpError` (404)
/// if there is no such file. The answer's Content-Security-Policy lets pages load nothing from other servers.
HttpAnswer page_file(const HttpRequest& request, std::string_view name);

}  // namespace sixfold::serve
