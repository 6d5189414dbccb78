#include "tasks/language_model/routes/served.h"

#include "serve/service.h"

namespace sixfold::serve {
ServedTask served_language_model(std::vector<Route> (*routes)(Service& service)) {
  return {.task = ServedLanguageModel::task,
          .load = [](const ModelSpec& spec, const ModelConfig&,
                     const EngineSettings& settings) -> std::unique_ptr<ServedModel> {
            auto model = std::make_unique<ServedLanguageModel>(spec, settings);
            model->name = spec.name_or_folder();
            return model;
          },
          .routes = routes};
}

}  // namespace sixfold::serve
