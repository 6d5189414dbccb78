#include "generate/beam.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace sixfold {
namespace {

bool finished_keeps_slot(const GenerationConfig& rules) {
  return rules.finished_keeps_slot || rules.beam_size == 1;
}

}  // namespace

double normalizer(const GenerationConfig& rules, int length) {
  switch (rules.normalization) {
    case ScoreNormalization::none:
      return 1;
    case ScoreNormalization::length:
      return std::pow(length, rules.length_penalty);
    case ScoreNormalization::gnmt:
      return std::pow((5.0 + length) / 6.0, rules.length_penalty);
  }
  return 1;
}

int longest_output(const GenerationConfig& rules, int source_tokens) {
  constexpr double most = 1 << 30;
  const double longest = std::floor(double{rules.length_factor} * source_tokens) + rules.length_offset;
  return static_cast<int>(std::clamp(longest, 1.0, most));
}

Beam::Beam(const GenerationConfig& rules, const BeamLimits& limits)
    : rules_(&rules),
      limits_(limits),
      slots_(static_cast<size_t>(rules.beam_size)),
      keeps_slot_(finished_keeps_slot(rules)) {}

// The end token and the other tokens must together fill all slots. If finished hypotheses do not keep their
// slots, the other tokens alone must fill them.
int Beam::candidates(const GenerationConfig& rules) {
  return rules.beam_size + (finished_keeps_slot(rules) ? 0 : 1);
}

void Beam::extend(std::span<const int32_t> ids, std::span<const float> log_probs) {
  rank(ids, log_probs);
  ++length_;
  next_.clear();
  size_t ended = 0;
  for (size_t place = 0; place < ranked_.size() && next_.size() < slots_; ++place) {
    const Candidate& candidate = ranked_[place];
    if (keeps_slot_ && place == slots_) break;
    if (candidate.id != limits_.eos && length_ < limits_.longest)
      go_on(candidate);
    else if (place < slots_) {
      finish(live_[candidate.parent], candidate);
      ++ended;
    }
  }
  if (keeps_slot_) slots_ -= ended;
  live_.swap(next_);
  if (!can_improve()) live_.clear();
}

void Beam::end(std::span<const float> log_probs) {
  ++length_;
  for (size_t i = 0; i < live_.size(); ++i)
    finish(live_[i], live_[i].log_probability + double{log_probs[i]}, FinishReason::forced_end);
  live_.clear();
}

void Beam::rank(std::span<const int32_t> ids, std::span<const float> log_probs) {
  const size_t k = ids.size() / live_.size();
  ranked_.clear();
  for (size_t i = 0; i < ids.size(); ++i)
    if (std::isfinite(log_probs[i]))  // banned tokens are -infinity
      ranked_.push_back({live_[i / k].log_probability + double{log_probs[i]}, i / k, ids[i]});
  std::sort(ranked_.begin(), ranked_.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.log_probability, a.parent, a.id) < std::tuple(-b.log_probability, b.parent, b.id);
  });
}

void Beam::go_on(const Candidate& candidate) {
  const LiveHypothesis& parent = live_[candidate.parent];
  LiveHypothesis& child = next_.emplace_back();
  child.ids.reserve(parent.ids.size() + 1);
  child.ids = parent.ids;
  child.ids.push_back(candidate.id);
  child.parent = static_cast<int>(candidate.parent);
  child.log_probability = candidate.log_probability;
}

/// Finishes `parent` with the candidate: the end token, or another token if the output is cut at its maximum
/// length.
void Beam::finish(const LiveHypothesis& parent, const Candidate& candidate) {
  if (candidate.id == limits_.eos) return finish(parent, candidate.log_probability, FinishReason::end_token);
  LiveHypothesis cut = parent;
  cut.ids.push_back(candidate.id);
  finish(cut, candidate.log_probability, FinishReason::cut);
}

void Beam::finish(const LiveHypothesis& hypothesis, double log_probability, FinishReason reason) {
  if (std::isnan(log_probability)) return;
  Hypothesis finished{hypothesis.ids, log_probability, log_probability / normalizer(*rules_, length_), reason};
  const auto place =
      std::upper_bound(finished_.begin(), finished_.end(), finished,
                       [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  finished_.insert(place, std::move(finished));
}

/// Whether an unfinished hypothesis can still become one of the n best, or whether the stopping criterion asks
/// to go on. Log-probabilities are at most 0. An upper bound of a final score is therefore the current sum,
/// divided by the largest divisor.
bool Beam::can_improve() const {
  if (live_.empty()) return false;
  if (rules_->stopping_criterion != StoppingCriterion::best_cannot_improve) {
    const size_t wanted = static_cast<size_t>(rules_->beam_size);
    if (finished_.size() < wanted) return true;
    return rules_->stopping_criterion == StoppingCriterion::best_is_no_better_now &&
           live_.front().log_probability / normalizer(*rules_, length_) > finished_[wanted - 1].score;
  }
  const size_t n_best = static_cast<size_t>(limits_.n_best);
  if (finished_.size() < n_best) return true;
  const double bound = live_.front().log_probability / normalizer(*rules_, limits_.longest);
  return bound > finished_[n_best - 1].score;
}

std::vector<Hypothesis> Beam::take_best() {
  finished_.resize(std::min(finished_.size(), static_cast<size_t>(limits_.n_best)));
  return std::move(finished_);
}

}  // namespace sixfold
