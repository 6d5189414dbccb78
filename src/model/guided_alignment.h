#pragma once
#include "model/layers/layer_context.h"
#include "ops/batch.h"

namespace sixfold {

/// Guided alignment: makes the cross-attention of one layer follow the links of a batch. It observes the
/// attention while a model computes its loss, and adds the gradients of `kernel::LinkLoss`. A target token that
/// has several links should attend to them equally.
class GuidedAlignment final : public AttentionObserver {
 public:
  /// `batch` must outlive the object. `weight`: factor of the loss. `scale`: additional factor of the
  /// gradients.
  GuidedAlignment(const Batch& batch, int layer, double weight, double scale)
      : batch_(batch), layer_(layer), weight_(weight), scale_(scale) {}

  bool wants(AttentionKind kind, int layer) const override {
    return kind == AttentionKind::cross && layer == layer_;
  }
  void observe_attention(AttentionKind kind, int layer, const ops::AttentionInputs& inputs,
                         const ops::AttentionPattern& pattern, Context& context) override;
  /// Adds the losses to `sum`, [1, 1] f64.
  void add_to(const Tensor& sum, Backend& backend) const;

 private:
  const Batch& batch_;
  int layer_;
  double weight_, scale_;
  std::vector<Tensor> losses_;  // one for each pass
};

}  // namespace sixfold
