#pragma once
#include "model/layers/layer_context.h"
#include "ops/batch.h"

namespace sixfold {

/// Guides the cross-attention of one layer to the links of a batch, while a model computes its loss: adds the
/// gradients of `kernel::LinkLoss`. A target token that has several links should attend to them equally.
class LinkGuide final : public AttentionObserver {
 public:
  /// `batch` must outlive the guide. `weight`: factor of the loss. `scale`: factor of the gradients besides.
  LinkGuide(const Batch& batch, int layer, double weight, double scale)
      : batch_(batch), layer_(layer), weight_(weight), scale_(scale) {}

  bool wants(AttentionKind kind, int layer) const override {
    return kind == AttentionKind::cross && layer == layer_;
  }
  void see(AttentionKind kind, int layer, const ops::AttentionInputs& inputs,
           const ops::AttentionPattern& pattern, Context& context) override;
  /// Adds what was lost to `sum`, [1, 1] f64.
  void add_to(const Tensor& sum, Backend& backend) const;

 private:
  const Batch& batch_;
  int layer_;
  double weight_, scale_;
  std::vector<Tensor> losses_;  // of each pass
};

}  // namespace sixfold
