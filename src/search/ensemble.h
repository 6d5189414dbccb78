#pragma once
#include <memory>
#include <vector>

#include "model/compatible_models.h"
#include "search/scorer.h"

namespace sixfold {

/// Models whose distributions over the next token are averaged. All have the same vocabularies.
struct Ensemble {
  std::vector<const Transformer*> models;
  std::vector<double> weights;  ///< of each, with the sum 1
  EnsembleMean mean = EnsembleMean::probabilities;
};

/// The scorer of the ensemble of a workspace. It computes the probabilities of all tokens, and answers queries
/// from them. `score` throws an input error for queries about attention or the likeliest tokens in the places
/// of given tokens.
std::unique_ptr<Scorer> make_ensemble_scorer(const DecodeWorkspace& workspace);

}  // namespace sixfold
