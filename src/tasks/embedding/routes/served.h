#pragma once
#include <vector>

#include "serve/models.h"
#include "tasks/embedding/embedder.h"
#include "tasks/embedding/settings.h"

namespace sixfold::serve {

/// A model of embeddings that is served.
struct ServedEmbedder final : ServedModel {
  static constexpr std::string_view task = EmbeddingSettings::task;

  ServedEmbedder(const ModelSpec& spec, const EngineSettings& settings)
      : embedder_(spec.folder, settings.runtime(spec)) {}
  const Embedder& predictor() const override { return embedder_; }
  void describe(nlohmann::ordered_json& entry) const override { entry["kind"] = "embedding"; }

 private:
  Embedder embedder_;
};

/// The entry of the task in the server's table of tasks.
ServedTask served_embedding(std::vector<Route> (*routes)(Service& service));

}  // namespace sixfold::serve
