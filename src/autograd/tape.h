#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace sixfold {

/// What a context that trains records: for each op its backward, newest last, and the module that made it.
class Tape {
 public:
  struct Node {
    std::string module;              ///< "decoder.layers.2.fc1"
    const char* op;                  ///< "linear"
    Tensor output;                   ///< its gradient is complete when the node's turn comes
    std::function<void()> backward;  ///< adds to its inputs' gradients; holds the tensors it needs
  };

  void record(Node node) { nodes_.push_back(std::move(node)); }
  /// Walks back from the newest op. An op whose output got no gradient is passed over. Each node is forgotten,
  /// and with it the buffers that only it held, as soon as it has run.
  void backward() { backward({}); }
  /// The same; `look`, where there is one, is called with each node before its turn.
  void backward(const std::function<void(const Node&)>& look);
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_;
};

}  // namespace sixfold
