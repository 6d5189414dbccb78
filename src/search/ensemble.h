#pragma once
#include <memory>
#include <span>
#include <vector>

#include "model/decoding_state.h"
#include "model/ensemble_rules.h"

namespace sixfold {

struct Answer;
struct DecodeWorkspace;
struct Query;

/// Models whose distributions over the next token become one. All have the same vocabularies.
struct Ensemble {
  std::vector<const Transformer*> models;
  std::vector<double> weights;  ///< of each, with the sum 1
  EnsembleMean mean = EnsembleMean::probabilities;
};

/// What `Scorer` does, for an ensemble. It computes whole rows of probabilities and answers from them. For one
/// thread at a time.
class EnsembleScorer {
 public:
  /// The workspace has an ensemble.
  explicit EnsembleScorer(const DecodeWorkspace& workspace);

  void enter(std::span<const int> requests, const IdBatch& sources,
             std::span<const std::span<const int32_t>> shortlists);
  void leave(int request);
  int64_t rows() const;
  /// Throws an input error for queries about attention or the likeliest tokens in given places.
  std::span<const Answer> score(std::span<const Extension> extensions, std::span<const Query> queries);

 private:
  class Together;
  void answer(const Query& query, Together& next);

  const DecodeWorkspace& workspace_;
  std::vector<std::unique_ptr<DecodingState>> states_;  // of each model
  std::vector<std::vector<int32_t>> shortlists_;        // by request; empty: all tokens
  std::vector<int32_t> ids_;
  std::vector<float> log_probs_, logits_, given_;
  std::vector<Answer> answers_;
};

}  // namespace sixfold
