#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "serve/http/http.h"

namespace sixfold::serve {

/// A file of src/serve/page, which is a part of the program.
struct PageFile {
  std::string_view name, content;
};

/// All files of src/serve/page.
std::span<const PageFile> page_files();

/// Answers with a page's file, with status 304 if the client has it already, or throws an `HttpError` (404).
/// Pages load nothing from elsewhere, and browsers are told to refuse it.
HttpAnswer page_file(const HttpRequest& request, std::string_view name);

}  // namespace sixfold::serve
