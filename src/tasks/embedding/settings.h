#pragma once
#include <string_view>

#include "model/config.h"

namespace sixfold {

/// The settings in config.json of a model of embeddings, besides those of its network.
struct EmbeddingSettings {
  static constexpr std::string_view task = "embedding";
  static constexpr TaskNetwork network{.task = task, .decoder = false, .head = OutputHead::embedding};
  bool normalize = false;  ///< divide each embedding by its Euclidean norm
};

inline void visit(OptionVisitor& v, EmbeddingSettings& o) {
  v.field("normalize", o.normalize, "divide each embedding by its Euclidean norm");
}

/// All values are valid.
inline void validate(const EmbeddingSettings& /*o*/) {}

}  // namespace sixfold
