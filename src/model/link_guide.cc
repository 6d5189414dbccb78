#include "model/link_guide.h"

#include <algorithm>

namespace sixfold {

void LinkGuide::see(AttentionKind, int, const ops::AttentionInputs& inputs,
                    const ops::AttentionPattern& pattern, Context& context) {
  const int64_t most = max_keys(pattern.spans);
  std::vector<float> wanted(static_cast<size_t>(inputs.query.rows() * most));
  auto link = batch_.links.begin();
  for (const AttentionSpan& span : pattern.spans)
    while (link != batch_.links.end() && link->target < span.query_begin + span.query_count) {
      const auto end = std::find_if(link, batch_.links.end(),
                                    [&](const Batch::Link& other) { return other.target != link->target; });
      const auto row = static_cast<size_t>(link->target);
      const float weight = batch_.label_weights.empty() ? 1 : batch_.label_weights[row];
      for (const auto count = static_cast<float>(end - link); link != end; ++link)
        wanted[row * static_cast<size_t>(most) + static_cast<size_t>(link->source - span.key_begin)] =
            weight / count;
    }
  losses_.push_back(ops::link_loss(context, inputs, pattern,
                                   context.matrix(wanted, inputs.query.rows(), most, inputs.query.dtype()),
                                   weight_, scale_));
}

void LinkGuide::add_to(const Tensor& sum, Backend& backend) const {
  for (const Tensor& losses : losses_) backend.run(kernel::Sum{sum.view(), losses.view(), /*accumulate=*/true});
}

}  // namespace sixfold
