#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/service.h"

namespace sixfold::serve {

/// The code of a language in DeepL's form, in capitals: "PT-BR".
std::string deepl_code(std::string code);

/// The one of `languages` that a DeepL code names: the same, or else the one without the region ("en" for
/// "EN-US" if there is no "en-US"). Throws an `HttpError` (400) that names the field and the languages if there
/// is none.
std::string deepl_language(std::string_view field, const std::string& code,
                           const std::vector<std::string>& languages);

/// The routes of /v2/glossaries and /v2/glossary-language-pairs.
std::vector<Route> deepl_glossary_routes(Service& service);

std::vector<Route> deepl_routes(Service& service);

}  // namespace sixfold::serve
