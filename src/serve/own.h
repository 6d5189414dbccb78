#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "serve/service.h"

namespace sixfold::serve {

/// A text and its translations, with the details that were wanted.
nlohmann::ordered_json result_json(const TextResult& text, const ExtraOutputs& details);

/// The routes that describe models: /v1/models, /v1/models/NAME and /v1/models/NAME/positions.
std::vector<Route> model_routes(Service& service);

/// The page for browsers: / and its files under /page/.
std::vector<Route> page_routes();

}  // namespace sixfold::serve
