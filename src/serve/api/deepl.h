#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/service.h"

namespace sixfold::serve {

/// DeepL writes codes in capitals: "PT-BR".
std::string deepl_code(std::string code);

/// The language of the models that a DeepL code names: the same, or else without its region ("EN-US" is "en" if
/// there is no "en-US"). Throws an `HttpError` (400) with the field and the languages if there is none.
std::string deepl_language(std::string_view field, const std::string& code,
                           const std::vector<std::string>& languages);

/// The routes of /v2/glossaries and /v2/glossary-language-pairs.
std::vector<Route> deepl_glossary_routes(Service& service);

std::vector<Route> deepl_routes(Service& service);

}  // namespace sixfold::serve
