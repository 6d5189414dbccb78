#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/options.h"

namespace sixfold {

/// The outcome of a candidate in a step of beam search.
enum class CandidateFate {
  continues,  ///< it is one of the hypotheses of the next step
  finished,   ///< it is complete
  dropped,    ///< others are better
  stopped,    ///< it would continue, but the search ends, since the stopping criterion is met
};

template <>
struct EnumNames<CandidateFate> {
  static constexpr std::pair<CandidateFate, std::string_view> names[] = {
      {CandidateFate::continues, "continues"},
      {CandidateFate::finished, "finished"},
      {CandidateFate::dropped, "dropped"},
      {CandidateFate::stopped, "stopped"}};
};

/// A hypothesis of a step and a token that could follow it.
struct SearchCandidate {
  int parent = 0;              ///< index among the hypotheses that continued in the last step, best first
  int32_t id = 0;              ///< the token
  double log_probability = 0;  ///< sum over all tokens, this one included
  double score = 0;            ///< the score that it has if it is finished with these tokens
  CandidateFate fate = CandidateFate::dropped;
};

/// Receives each step of a beam search. An observer does not change the search.
class SearchObserver {
 public:
  virtual ~SearchObserver() = default;
  /// Called after every step, with its candidates, best first. If there are none, no token was allowed to
  /// follow, and the hypotheses were finished without another token. Called by the thread that decodes.
  virtual void see(std::span<const SearchCandidate> candidates) = 0;
};

}  // namespace sixfold
