#pragma once
#include <memory>
#include <vector>

#include "model/transformer.h"

namespace sixfold {

/// The output layer under the rules of search: which tokens may come next is a function of a hypothesis alone,
/// of its source (by a shortlist) and its length. Tokens that may not come keep their share of the probability,
/// or, under `renormalize_logits`, leave it to those that may.
class RestrictedOutput {
 public:
  /// Of all target tokens. The start token marks no place but the first, so it is always suppressed.
  RestrictedOutput(const ModelConfig& config, const GenerationConfig& rules, const ops::OutputWeights& output,
                   const std::shared_ptr<Backend>& backend);
  /// Of some: `ids`, which are sorted, the end token, and as many others, from the lowest, as it takes to have
  /// `k` that may come.
  RestrictedOutput(const ModelConfig& config, const GenerationConfig& rules, const ops::OutputWeights& output,
                   const std::shared_ptr<Backend>& backend, std::vector<int32_t> ids, int k);

  /// The k likeliest next tokens of hypotheses of `length` tokens, given their states.
  ops::Candidates top_k(Context& context, const Tensor& states, int k, int length) const;
  /// The log-probability that the model gives the end token, which no rule suppresses here.
  std::vector<float> log_probability_of_end(Context& context, const Tensor& states) const;
  /// Whether hypotheses of both lengths may be followed by the same tokens.
  bool same(int length, int other) const { return may_end(length) == may_end(other); }

 private:
  /// The tokens that may come, and the layer that gives their probabilities.
  struct Restriction {
    ops::OutputWeights weights;
    std::vector<int32_t> suppressed;  ///< rows of `weights`
  };
  void restrict(const ModelConfig& config, const GenerationConfig& rules,
                const std::shared_ptr<Backend>& backend);
  Restriction without(const std::vector<int32_t>& tokens, bool renormalize,
                      const std::shared_ptr<Backend>& backend) const;
  std::vector<int32_t> rows_of(const std::vector<int32_t>& tokens) const;
  bool may_end(int length) const { return length >= min_new_tokens_; }

  std::vector<int32_t> ids_;  ///< of the rows; empty: row i is token i
  ops::OutputWeights weights_;
  int min_new_tokens_;
  int32_t eos_;  ///< its row
  Restriction long_enough_, too_short_;
};

}  // namespace sixfold
