#include "tasks/language_model/routes/served.h"

#include <filesystem>

#include "serve/service.h"

namespace sixfold::serve {
namespace {

std::string last_part(const std::string& folder) {
  std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  return path.filename().string();
}

}  // namespace

ServedTask served_language_model(std::vector<Route> (*routes)(Service& service)) {
  return {.task = ServedLanguageModel::task,
          .open = [](const ModelSpec& spec, const ModelConfig&,
                     const EngineSettings& settings) -> std::unique_ptr<ServedModel> {
            auto model = std::make_unique<ServedLanguageModel>(spec, settings);
            model->name = spec.name.empty() ? last_part(spec.folder) : spec.name;
            return model;
          },
          .routes = routes};
}

}  // namespace sixfold::serve
