#include "serve/api/served_tasks.h"

#include <algorithm>
#include <iterator>

#include "serve/api/deepl.h"
#include "serve/api/libretranslate.h"
#include "serve/api/openai.h"
#include "tasks/embedding/routes/served.h"
#include "tasks/translation/routes/served.h"

namespace sixfold::serve {
namespace {

std::vector<Route> translation_routes(Service& service) {
  std::vector<Route> all = libretranslate_routes(service);
  for (const auto routes : {deepl_routes, translate_routes})
    std::ranges::move(routes(service), std::back_inserter(all));
  return all;
}

}  // namespace

ServedTasks builtin_served_tasks() {
  static const ServedTask table[] = {served_translation(translation_routes),
                                     served_language_model(openai_routes),
                                     served_embedding(openai_embedding_routes)};
  return table;
}

}  // namespace sixfold::serve
