#include "model/layers/sequence_state.h"

namespace sixfold {

StateRows WholeSequences::before(int) {
  if (!empty_pattern_) {
    std::vector<AttentionSpan> spans;
    for (int i = 0; i < rows_.sequences(); ++i) spans.push_back({rows_.begin(i), rows_.length(i), 0, 0});
    empty_pattern_ = ops::attention_pattern(context_, std::move(spans), /*causal=*/false);
  }
  return {{}, empty_pattern_};
}

}  // namespace sixfold
