#pragma once
#include <memory>
#include <span>
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
/// from them. Attention is that of the first model. `score` throws an input error for queries about the
/// likeliest tokens in the places of given tokens.
std::unique_ptr<Scorer> make_ensemble_scorer(const DecodeWorkspace& workspace);

/// The log-probability of a token in each row. `states`: of each model, [tokens, d_model]; `allowed`: the
/// tokens over which the distributions are normalized, in ascending order; empty: all.
std::vector<double> ensemble_log_probabilities(const Ensemble& ensemble, std::span<const Tensor> states,
                                               std::span<const int32_t> tokens,
                                               std::span<const int32_t> allowed, Context& context);

}  // namespace sixfold
