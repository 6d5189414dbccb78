#pragma once
#include <string>
#include <vector>

#include "model/compatible_models.h"
#include "model/weight_type.h"

namespace sixfold {

/// What the threads of calls do while they wait for results.
enum class CallingThreads {
  decode,  ///< each decodes its own requests: a single call needs no switch between threads
  /// They only wait, and threads of the engine decode the requests of all calls together: for a server, where
  /// more calls are made at the same time than there are processors.
  wait,
};

/// How a model is loaded and computed.
struct RuntimeOptions {
  int threads = 0;  ///< of one call; 0: one for each processor core available
  WeightType weights = WeightType::stored;
  CallingThreads calling = CallingThreads::decode;
  /// Folders of other models that form an ensemble with this one. They have the same tokenizers.
  std::vector<std::string> ensemble = {};
  std::vector<double> ensemble_weights = {};  ///< of this model and the others; empty: equal ones
  EnsembleMean ensemble_mean = EnsembleMean::probabilities;
};
/// The options that users may set.
inline void visit(OptionVisitor& v, RuntimeOptions& o) {
  v.field("precision", o.weights,
          "type of the weights of products: fp32; int8, which takes less time and memory; or int4, which takes "
          "less still and is less exact [as the model is stored]");
  v.field("threads", o.threads, "number of threads; 0: all that are available", between(0, 1024));
  v.field("ensemble", o.ensemble,
          "folders of other models with the same tokenizers, whose predictions are averaged with those of this "
          "one");
  v.field("ensemble_weights", o.ensemble_weights,
          "weights of the model and of those of the ensemble; empty: equal ones", between(1e-6, 1e6));
  v.field("ensemble_mean", o.ensemble_mean,
          "how the predictions of an ensemble are averaged: by probabilities or log_probabilities");
}

}  // namespace sixfold
