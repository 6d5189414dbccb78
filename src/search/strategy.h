#pragma once
#include <span>
#include <vector>

#include "search/hypothesis.h"
#include "search/scorer.h"

namespace sixfold {

/// The search of one request, independent of the model. In each step, `ask` returns the hypotheses to continue
/// and the queries about their next tokens, and `advance` receives the answers. For one thread at a time.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Says how many requests the next step has. A strategy that guesses then guesses less where there are many:
  /// a step of many rows takes longer with more of them. The result is the same.
  virtual void share_step(size_t /*requests*/) {}
  /// Appends one extension for each hypothesis to continue, and its queries. The memory that their spans refer
  /// to belongs to the strategy and stays valid until `advance`.
  virtual void ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) = 0;
  /// Continues the search with the answers to the last queries, in their order.
  virtual void advance(std::span<const Answer> answers) = 0;
  virtual bool done() const = 0;
  /// The tokens of the output so far, with the prompt, that can't change any more: they can be shown before the
  /// search ends.
  virtual std::span<const int32_t> settled() const { return {}; }
  /// Returns the finished hypotheses, best first. Returns none if all probabilities were NaN. To be called
  /// once.
  virtual std::vector<Hypothesis> take_best() = 0;
};

}  // namespace sixfold
