#pragma once
#include <string>
#include <vector>

#include "serve/service.h"

namespace sixfold::serve {

/// The extensions of files that can be translated: ".txt" and so on.
std::vector<std::string> file_extensions();

/// The source language of a request: a code, or "auto".
std::string source_of(const Fields& fields);

/// The routes of /translate_file, /download_file and /suggest.
std::vector<Route> libretranslate_file_routes(Service& service);

std::vector<Route> libretranslate_routes(Service& service);

}  // namespace sixfold::serve
