#pragma once
#include <memory>
#include <vector>

#include "serve/models.h"
#include "tasks/language_model/generator.h"
#include "tasks/language_model/settings.h"

namespace sixfold::serve {

/// A language model that is served.
struct ServedLanguageModel final : ServedModel {
  static constexpr std::string_view task = LanguageModelSettings::task;

  ServedLanguageModel(const ModelSpec& spec, const EngineSettings& settings)
      : generator_(spec.folder, settings.runtime(spec)) {}
  const Generator& predictor() const override { return generator_; }
  void describe(nlohmann::ordered_json& entry) const override { entry["kind"] = "language model"; }

 private:
  Generator generator_;
};

/// The entry of the task in the server's table of tasks.
ServedTask served_language_model(std::vector<Route> (*routes)(Service& service));

}  // namespace sixfold::serve
