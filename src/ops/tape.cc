#include "ops/tape.h"

namespace sixfold {

void Tape::backward(const std::function<void(const Node&)>& observer) {
  while (!nodes_.empty()) {
    Node node = std::move(nodes_.back());
    nodes_.pop_back();
    if (observer) observer(node);
    if (!node.output || node.output.gradient()) node.backward();
  }
}

}  // namespace sixfold
