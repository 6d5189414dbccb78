#include "model/guided_alignment.h"

#include <algorithm>

namespace sixfold {

void GuidedAlignment::observe_attention(AttentionKind, int, const ops::AttentionInputs& inputs,
                                        const ops::AttentionPattern& pattern, Context& context) {
  const int64_t columns = max_keys(pattern.spans);
  std::vector<float> target_weights(static_cast<size_t>(inputs.query.rows() * columns));
  auto link = batch_.links.begin();
  for (const AttentionSpan& span : pattern.spans)
    while (link != batch_.links.end() && link->target < span.query_begin + span.query_count) {
      const auto end = std::find_if(link, batch_.links.end(),
                                    [&](const Batch::Link& other) { return other.target != link->target; });
      const auto row = static_cast<size_t>(link->target);
      const float weight = batch_.label_weights.empty() ? 1 : batch_.label_weights[row];
      for (const auto count = static_cast<float>(end - link); link != end; ++link)
        target_weights[row * static_cast<size_t>(columns) +
                       static_cast<size_t>(link->source - span.key_begin)] = weight / count;
    }
  losses_.push_back(ops::link_loss(
      context, inputs, pattern,
      context.matrix(target_weights, inputs.query.rows(), columns, inputs.query.dtype()), weight_, scale_));
}

void GuidedAlignment::add_to(const Tensor& sum, Backend& backend) const {
  for (const Tensor& losses : losses_) backend.run(kernel::Sum{sum.view(), losses.view(), /*accumulate=*/true});
}

}  // namespace sixfold
