// The routes of the page for browsers. The page gets everything that it shows from the other routes.
#include "serve/http/page_files.h"
#include "serve/service.h"

namespace sixfold::serve {

std::vector<Route> page_routes() {
  return {
      {"GET", "/",
       [](const HttpRequest& request, const std::string&) { return page_file(request, "index.html"); },
       openai_error_body,
       /*is_public=*/true},
      {"GET", "/page/*",
       [](const HttpRequest& request, const std::string& name) { return page_file(request, name); },
       openai_error_body,
       /*is_public=*/true},
  };
}

}  // namespace sixfold::serve
