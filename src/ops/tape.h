#pragma once
#include <functional>
#include <string>
#include <vector>

#include "ops/tensor.h"

namespace sixfold {

/// The ops that a context recorded, in order, each with its backward function and its module. For one thread at
/// a time.
class Tape {
 public:
  struct Node {
    std::string module;              ///< "decoder.layers.2.fc1"
    const char* op;                  ///< "linear"
    Tensor output;                   ///< its gradient is complete when `backward` is called
    std::function<void()> backward;  ///< adds to the gradients of the inputs; holds the tensors it needs
  };

  Tape() = default;
  /// Calls `observer` with each node when it is recorded. Later, another op may overwrite the node's output.
  explicit Tape(std::function<void(const Node&)> observer) : observer_(std::move(observer)) {}

  void record(Node node) {
    nodes_.push_back(std::move(node));
    if (observer_) observer_(nodes_.back());
  }
  /// Runs the backward functions, from the newest op to the oldest. Skips ops whose output has no gradient.
  /// Each node is destroyed after it has run, which frees the buffers that only it used.
  void backward() { backward({}); }
  /// The same, but calls `observer`, unless it is empty, with each node before its backward function.
  void backward(const std::function<void(const Node&)>& observer);
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::function<void(const Node&)> observer_;
  std::vector<Node> nodes_;
};

}  // namespace sixfold
