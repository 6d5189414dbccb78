#include "search/beam.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace sixfold {
namespace {

double normalizer(const GenerationConfig& rules, int length) {
  switch (rules.normalization) {
    case ScoreNormalization::none:
      return 1;
    case ScoreNormalization::length:
      return std::pow(length, rules.length_penalty);
    case ScoreNormalization::gnmt:
      return std::pow((5.0 + length) / 6.0, rules.length_penalty);
  }
  throw_unknown("normalization of scores", rules.normalization);
}

/// An upper bound of the final score of a hypothesis that has `length` tokens now and will have at most
/// `longest`.
double best_score(const GenerationConfig& rules, double log_probability, int length, int longest) {
  const double penalty = double{rules.word_penalty};
  const double sum = log_probability - penalty * (penalty > 0 ? length : longest);
  return sum / normalizer(rules, sum > 0 ? length : longest);
}

}  // namespace

double score_of(const GenerationConfig& rules, double log_probability, int length,
                std::span<const float> coverage) {
  const double score = (log_probability - double{rules.word_penalty} * length) / normalizer(rules, length);
  if (rules.coverage_penalty == 0) return score;
  double penalty = 0;
  constexpr float smallest = std::numeric_limits<float>::min();  // a weight may underflow to 0
  for (const float weight : coverage) penalty += std::log(std::clamp(double{weight}, double{smallest}, 1.0));
  return score + double{rules.coverage_penalty} * penalty;
}

Beam::Beam(const GenerationConfig& rules, const BeamLimits& limits)
    : rules_(&rules),
      limits_(limits),
      slots_(static_cast<size_t>(limits.phrases ? width(rules, *limits.phrases) : rules.beam_size)),
      keeps_slot_(rules.finished_keeps_slot || slots_ == 1),
      length_(static_cast<int>(limits.prefix.size())) {
  LiveHypothesis& start = live_.front();
  start.ids.assign(limits_.prefix.begin(), limits_.prefix.end());
  if (!limits_.phrases) return;
  start.progress = limits_.phrases->start();
  for (const int32_t id : start.ids) start.progress = limits_.phrases->after(start.progress, id);
}

int Beam::width(const GenerationConfig& rules, const PhraseSet& phrases) {
  return phrases.empty() ? rules.beam_size : std::max(rules.beam_size, phrases.tokens() + 1);
}

// The end token and the other tokens must together fill all slots. If finished hypotheses do not keep their
// slots, or the end token is no candidate, the other tokens alone must fill them.
int Beam::candidates(const GenerationConfig& rules, const PhraseSet& phrases, int ends) {
  const int slots = width(rules, phrases);
  return slots + (phrases.empty() && (rules.finished_keeps_slot || slots == 1) ? 0 : ends);
}

bool Beam::is_end(int32_t id) const {
  return id == limits_.eos || std::ranges::count(limits_.more_ends, id) > 0;
}

void Beam::add_coverage(size_t hypothesis, std::span<const float> attention) {
  std::vector<float>& coverage = live_[hypothesis].coverage;
  coverage.resize(attention.size());
  for (size_t i = 0; i < coverage.size(); ++i) coverage[i] += attention[i];
}

void Beam::extend(std::span<const int32_t> ids, std::span<const float> log_probs) {
  const bool broken = rank(ids, log_probs);
  ++length_;
  if (ranked_.empty() && !broken)  // no token may follow
    for (const LiveHypothesis& hypothesis : live_)
      finish(hypothesis, hypothesis.log_probability, FinishReason::cut);
  next_.clear();
  const std::vector<size_t> slots = slots_of_banks();
  std::vector<size_t> seen(slots.size()), continued(slots.size());
  size_t ended = 0;
  for (Candidate& candidate : ranked_) {
    const size_t bank = candidate.bank, place = seen[bank]++;
    if (continued[bank] == slots[bank] || (keeps_slot_ && place >= slots[bank])) continue;
    if (!ends(candidate)) {
      next_.push_back(child_of(candidate));
      candidate.fate = CandidateFate::continues;
      ++continued[bank];
    } else if (place < slots[bank]) {
      finish(live_[candidate.parent], candidate);
      candidate.fate = CandidateFate::finished;
      ++ended;
    }
  }
  if (keeps_slot_) slots_ -= ended;
  live_.swap(next_);
  if (!can_improve()) live_.clear();
  notify_observer();
}

void Beam::force_end(std::span<const float> log_probs) {
  ++length_;
  ranked_.clear();
  for (size_t i = 0; i < live_.size(); ++i) {
    const double log_probability = live_[i].log_probability + double{log_probs[i]};
    finish(live_[i], log_probability, FinishReason::forced_end);
    ranked_.push_back(
        {.log_probability = log_probability, .parent = i, .id = limits_.eos, .fate = CandidateFate::finished});
  }
  live_.swap(next_);
  live_.clear();
  notify_observer();
}

/// Passes a step that is complete to the observer. `next_` has the hypotheses before the step then.
void Beam::notify_observer() const {
  if (!limits_.observer) return;
  std::vector<SearchCandidate> step;
  for (const Candidate& one : ranked_) {
    const bool stopped = live_.empty() && one.fate == CandidateFate::continues;
    step.push_back({.parent = static_cast<int>(one.parent),
                    .id = one.id,
                    .log_probability = one.log_probability,
                    .score = score_of(*rules_, one.log_probability, length_, next_[one.parent].coverage),
                    .fate = stopped ? CandidateFate::stopped : one.fate});
  }
  limits_.observer->see(step);
}

/// Fills `ranked_` with the candidates, best first. Returns whether a log-probability is NaN.
bool Beam::rank(std::span<const int32_t> ids, std::span<const float> log_probs) {
  const size_t k = ids.size() / live_.size();
  bool broken = false;
  ranked_.clear();
  for (size_t i = 0; i < ids.size(); ++i) {
    broken = broken || std::isnan(log_probs[i]);
    const auto before = ids.subspan(i / k * k, i % k);
    if (!std::isfinite(log_probs[i]) || ids[i] < 0) continue;  // banned tokens are -infinity
    if (std::find(before.begin(), before.end(), ids[i]) != before.end()) continue;
    Candidate candidate{live_[i / k].log_probability + double{log_probs[i]}, i / k, ids[i]};
    if (assign_bank(candidate)) ranked_.push_back(std::move(candidate));
  }
  std::sort(ranked_.begin(), ranked_.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.log_probability, a.parent, a.id) < std::tuple(-b.log_probability, b.parent, b.id);
  });
  return broken;
}

/// Sets the bank of a candidate. Returns false for an end token before all phrases are met.
bool Beam::assign_bank(Candidate& candidate) const {
  if (!limits_.phrases) return true;
  const PhraseProgress& before = live_[candidate.parent].progress;
  const bool end = is_end(candidate.id);
  candidate.progress = end ? before : limits_.phrases->after(before, candidate.id);
  candidate.bank = static_cast<size_t>(limits_.phrases->met(candidate.progress));
  return !end || limits_.phrases->complete(candidate.progress);
}

/// The number of slots of each bank.
std::vector<size_t> Beam::slots_of_banks() const {
  if (!limits_.phrases) return {slots_};
  std::vector<size_t> candidates(static_cast<size_t>(limits_.phrases->tokens()) + 1);
  for (const Candidate& candidate : ranked_) ++candidates[candidate.bank];
  return divide_beam(slots_, candidates);
}

bool Beam::ends(const Candidate& candidate) const { return is_end(candidate.id) || length_ >= limits_.longest; }

LiveHypothesis Beam::child_of(const Candidate& candidate) const {
  const LiveHypothesis& parent = live_[candidate.parent];
  LiveHypothesis child{.parent = static_cast<int>(candidate.parent),
                       .log_probability = candidate.log_probability,
                       .progress = candidate.progress,
                       .coverage = parent.coverage};
  child.ids.reserve(parent.ids.size() + 1);
  child.ids = parent.ids;
  child.ids.push_back(candidate.id);
  return child;
}

/// Finishes `parent` with the candidate: the end token, or another token if the output is cut at its maximum
/// length.
void Beam::finish(const LiveHypothesis& parent, const Candidate& candidate) {
  if (is_end(candidate.id)) return finish(parent, candidate.log_probability, FinishReason::end_token);
  finish(child_of(candidate), candidate.log_probability, FinishReason::cut);
}

void Beam::finish(const LiveHypothesis& hypothesis, double log_probability, FinishReason reason) {
  if (std::isnan(log_probability)) return;
  Hypothesis finished{hypothesis.ids, log_probability,
                      score_of(*rules_, log_probability, length_, hypothesis.coverage), reason};
  if (limits_.phrases) finished.unmet = limits_.phrases->unmet(hypothesis.progress);
  const auto place = std::upper_bound(
      finished_.begin(), finished_.end(), finished, [](const Hypothesis& a, const Hypothesis& b) {
        return std::pair(a.unmet.size(), -a.score) < std::pair(b.unmet.size(), -b.score);
      });
  finished_.insert(place, std::move(finished));
}

/// Whether an unfinished hypothesis can still become one of the n best, or whether the stopping criterion does
/// not end the search yet. Log-probabilities are at most 0. An upper bound of a final score is therefore the
/// current sum, divided by the largest divisor (`best_score`). The coverage penalty is at most 0 too.
bool Beam::can_improve() const {
  if (live_.empty()) return false;
  if (rules_->stopping_criterion != StoppingCriterion::best_cannot_improve) {
    const size_t beam_size = static_cast<size_t>(rules_->beam_size);
    if (finished_.size() < beam_size) return true;
    return rules_->stopping_criterion == StoppingCriterion::best_is_no_better_now &&
           score_of(*rules_, live_.front().log_probability, length_, live_.front().coverage) >
               finished_[beam_size - 1].score;
  }
  const size_t n_best = static_cast<size_t>(limits_.n_best);
  if (finished_.size() < n_best) return true;
  const double bound = best_score(*rules_, live_.front().log_probability, length_, limits_.longest);
  return bound > finished_[n_best - 1].score;
}

std::vector<Hypothesis> Beam::take_best() {
  finished_.resize(std::min(finished_.size(), static_cast<size_t>(limits_.n_best)));
  return std::move(finished_);
}

}  // namespace sixfold
