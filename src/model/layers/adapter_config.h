#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "base/options.h"

namespace sixfold {

/// The low-rank adapters of a model's linear maps (Hu et al. 2021, "LoRA"). Only the folders of a training run,
/// and models that are stored separately from their base, have adapters.
struct AdapterConfig {
  int rank = 0;  ///< 0: there are none
  double alpha = 0;
  std::vector<std::string> projections;
  std::vector<std::string> trained = {};  ///< names of other weights that are trained, since the base has none
  /// The folder of the base model, which has the other weights, if the adapters are stored separately; else
  /// empty.
  std::string base = {};
  std::string base_checksum = {};  ///< checksum of the weights for which the adapters were trained

  double scale() const { return alpha / rank; }
  /// Whether the linear map of this name has an adapter: one of `projections` is its name or the last part of
  /// it after a dot. If `projections` is empty, each linear map has one.
  bool adapts(const std::string& map) const {
    if (rank == 0 || projections.empty()) return rank > 0;
    return std::ranges::any_of(projections, [&](const std::string& projection) {
      return map == projection || map.ends_with("." + projection);
    });
  }
};

inline void visit(OptionVisitor& v, AdapterConfig& o) {
  v.field("rank", o.rank, "rank of the adapters; 0: there are none", between(0, 4096));
  v.field("alpha", o.alpha, "an adapter changes a weight by alpha / rank * up down", at_least(0));
  v.field("projections", o.projections,
          "names of the linear maps that have an adapter; empty: all of the layers");
  v.field("trained", o.trained, "names of other weights that were trained");
  v.field("base", o.base, "model folder that has the weights that this one lacks");
  v.field("base_checksum", o.base_checksum, "checksum of the base's weights");
}

}  // namespace sixfold
