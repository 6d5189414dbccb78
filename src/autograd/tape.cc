#include "autograd/tape.h"

namespace sixfold {

void Tape::backward() {
  while (!nodes_.empty()) {
    Node node = std::move(nodes_.back());
    nodes_.pop_back();
    if (!node.output || node.output.gradient()) node.backward();
  }
}

}  // namespace sixfold
