#pragma once
#include <cstdint>
#include <memory>

#include "model/config.h"
#include "model/layers/parameters.h"
#include "ops/batch.h"
#include "ops/ops.h"

namespace sixfold {

/// What a model predicts from the states of its last stack, and the loss of it. Immutable; may be called from
/// several threads, with one context for each.
class Head {
 public:
  virtual ~Head() = default;

  /// The projection to logits; empty if what is predicted is the input itself.
  const ops::OutputWeights& output() const { return output_; }
  /// The rows that are projected, of the states of a batch [tokens, d_model]: one for each label,
  /// [labels, d_model]; without labels, or if they choose rows, one for each token; if the head pools, one for
  /// each sequence.
  virtual Tensor input(const Tensor& states, const Batch& batch, Context& context) const;
  /// Section 5.4: the label-smoothed cross entropy, summed over the batch's labels, [1, 1] f64; if `options`
  /// has the states of a second pass, the loss of R-Drop. If the context records, this also computes the
  /// gradients of the states. Throws an input error for a label that there is not.
  virtual Tensor loss(const Tensor& states, const Batch& batch, const ops::LossOptions& options,
                      Context& context) const;

 protected:
  /// `choices`: the number of different labels.
  Head(ops::OutputWeights output, int choices) : output_(std::move(output)), choices_(choices) {}

 private:
  ops::OutputWeights output_;
  int choices_;
};

/// Creates the head that a config describes, with its weights. `embedding`: of what the model writes, or of
/// what it reads if it only reads; the output may share it.
std::unique_ptr<const Head> make_head(const ParameterBuilder& builder, const ModelConfig& config,
                                      const Tensor& embedding);

/// The number of values between which a label decides, for a config that has been validated.
int64_t label_choices(const ModelConfig& config);

}  // namespace sixfold
