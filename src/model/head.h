#pragma once
#include <cstdint>
#include <memory>

#include "model/config.h"
#include "model/layers/parameters.h"
#include "ops/batch.h"
#include "ops/ops.h"

namespace sixfold {

/// The output layer of a model, which makes predictions from the states of its last stack, and its loss.
/// Immutable; may be called from several threads, with one context for each.
class Head {
 public:
  virtual ~Head() = default;

  /// The projection to logits; empty if the head predicts embeddings, which are its input.
  const ops::OutputWeights& output() const { return output_; }
  /// Returns the rows that are projected, given the states of a batch [tokens, d_model]: one row for each
  /// label, [labels, d_model]; without labels, or if labels select rows, one for each token; if the head pools,
  /// one for each sequence.
  virtual Tensor input(const Tensor& states, const Batch& batch, Context& context) const;
  /// Returns the label-smoothed cross entropy (section 5.4), summed over the batch's labels, [1, 1] f64; if
  /// `options` has the states of a second pass, the loss of R-Drop. If the context records, this also computes
  /// the gradients of the states. Throws an input error for a label that is out of range.
  virtual Tensor loss(const Tensor& states, const Batch& batch, const ops::LossOptions& options,
                      Context& context) const;

 protected:
  /// `choices`: the number of different labels.
  Head(ops::OutputWeights output, int choices) : output_(std::move(output)), choices_(choices) {}

 private:
  ops::OutputWeights output_;
  int choices_;
};

/// Creates the head that a config describes, with its weights. `embedding`: the target embedding, or without a
/// decoder the source embedding, which the output projection may share.
std::unique_ptr<const Head> make_head(const ParameterBuilder& builder, const ModelConfig& config,
                                      const Tensor& embedding);

/// The number of different values of a label, for a config that has been validated; for a span the maximum
/// number of rows.
int64_t label_choices(const ModelConfig& config);

}  // namespace sixfold
