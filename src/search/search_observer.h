#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/options.h"

namespace sixfold {

/// What becomes of a candidate in a step of beam search.
enum class CandidateFate {
  continues,  ///< it is one of the hypotheses of the next step
  finished,   ///< it is complete
  dropped,    ///< others are better
  stopped,    ///< it would go on, but the search ends: it can't become better than those that are complete
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
  double score = 0;            ///< the sum, normalized for this length as that of a finished hypothesis
  CandidateFate fate = CandidateFate::dropped;
};

/// Is told each step of a beam search. Observing changes nothing in the search.
class SearchObserver {
 public:
  virtual ~SearchObserver() = default;
  /// Receives the candidates of a step, best first; those of no step are lost. Without a candidate no token
  /// could follow, and the hypotheses were finished as they were. Called by the thread that decodes.
  virtual void see(std::span<const SearchCandidate> candidates) = 0;
};

}  // namespace sixfold
