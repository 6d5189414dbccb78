#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/layers/architecture.h"
#include "model/layers/layer_context.h"
#include "model/layers/parameters.h"

namespace sixfold {

/// Dropout, residual connection and norm, in the order of the config's process sequence.
class ProcessSequence {
 public:
  /// Weights of a norm are named within `make`'s scope.
  ProcessSequence(ParameterBuilder make, std::vector<ProcessStep> steps, const Architecture& a);
  /// y and residual (added by `add`): [n, d_model]. May overwrite y, so if the sequence has an `add`, no other
  /// op may read y.
  Tensor operator()(Tensor y, const Tensor& residual, LayerContext& c) const;

 private:
  Tensor normalize(const Tensor& x, Context& context) const;

  std::vector<ProcessStep> steps_;
  ops::NormWeights norm_;
  std::optional<ops::BatchNormWeights> batch_norm_;  // instead of `norm_`
  double dropout_;
};

/// The steps after the sum of embedding and position encoding, without a dropout at the beginning, which the
/// embedding op applies.
std::vector<ProcessStep> process_after_embedding(const Architecture& a);

/// The residual connection around each sub-layer (section 3.1). In the paper it is "Add & Norm" of figure 1,
/// LayerNorm(x + dropout(sublayer(x))). In a pre-norm model it is x + dropout(sublayer(LayerNorm(x))).
class Residual {
 public:
  /// Norms are named `norm` within `make`'s scope.
  Residual(ParameterBuilder make, const std::string& norm, const Architecture& a)
      : before_(make.in(has_step(a.postprocess, ProcessStep::norm) ? norm + "_before" : norm), a.preprocess, a),
        after_(make.in(norm), a.postprocess, a) {}

  /// Returns the input of the sub-layer. x: [n, d_model].
  Tensor input(const Tensor& x, LayerContext& c) const { return before_(x, x, c); }
  /// Combines x and the output y of the sub-layer, both [n, d_model]. May overwrite y.
  Tensor add(const Tensor& x, Tensor y, LayerContext& c) const { return after_(std::move(y), x, c); }

 private:
  ProcessSequence before_, after_;
};

}  // namespace sixfold
