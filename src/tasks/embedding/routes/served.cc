#include "tasks/embedding/routes/served.h"

#include "serve/service.h"

namespace sixfold::serve {

ServedTask served_embedding(std::vector<Route> (*routes)(Service& service)) {
  return {.task = ServedEmbedder::task,
          .load = [](const ModelSpec& spec, const ModelConfig&,
                     const EngineSettings& settings) -> std::unique_ptr<ServedModel> {
            auto model = std::make_unique<ServedEmbedder>(spec, settings);
            model->name = spec.name_or_folder();
            return model;
          },
          .routes = routes};
}

}  // namespace sixfold::serve
