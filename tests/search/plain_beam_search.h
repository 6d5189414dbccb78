#pragma once
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "model/attention_weights.h"
#include "runtime/search.h"

// The specification of the search, in as few words as it takes.

namespace sixfold {

using Ids = std::vector<int32_t>;
inline constexpr int eos = 2;

/// log p of every next symbol after `ids`, by a pass over the whole of them.
inline std::vector<double> next_symbols(const Transformer& model, const Ids& source, const Ids& ids) {
  Batch batch;
  batch.source.add(source);
  Ids input{model.config().decoder_start_token};
  input.insert(input.end(), ids.begin(), ids.end());
  batch.target.add(input);
  Context context(model.backend(), std::make_shared<Arena>(model.backend()));
  const Tensor states = model.states(batch, context);
  const auto logits = ops::logits(context, states, model.output()).to_doubles(context.backend());
  std::vector<double> last(logits.end() - model.config().target_vocab, logits.end());
  double sum = 0;
  for (const double logit : last) sum += std::exp(logit);
  for (double& logit : last) logit -= std::log(sum);
  return last;
}

inline double divided(const GenerationConfig& rules, double sum, size_t length) {
  const double n = static_cast<double>(length);
  if (rules.normalization == ScoreNormalization::length) return sum / std::pow(n, rules.length_penalty);
  if (rules.normalization == ScoreNormalization::gnmt) return sum / std::pow((5 + n) / 6, rules.length_penalty);
  return sum;
}

/// The coverage penalty of an output with its end symbol, by a pass over the whole of it.
inline double coverage_penalty(const Transformer& model, const Ids& source, const Ids& output,
                               const GenerationConfig& rules) {
  if (rules.coverage_penalty == 0) return 0;
  Batch batch;
  batch.source.add(source);
  Ids input{model.config().decoder_start_token};
  input.insert(input.end(), output.begin(), output.end() - 1);
  batch.target.add(input);
  Context context(model.backend(), std::make_shared<Arena>(model.backend()));
  const int layer = model.config().alignment_layer(rules);
  const auto weights = attention_weights(model, batch, AttentionKind::cross, layer, context)[0];
  const double heads = model.config().heads;
  double penalty = 0;
  for (size_t s = 0; s < source.size(); ++s) {
    double covered = 0;
    for (size_t at = s; at < weights.size(); at += source.size()) covered += double{weights[at]} / heads;
    penalty += std::log(std::min(covered, 1.0));
  }
  return double{rules.coverage_penalty} * penalty;
}

/// What is banned leaves its probability to the others.
inline void renormalize(std::vector<double>& log_probs, const std::set<int32_t>& banned) {
  double left = 0;
  for (int32_t id = 0; id < std::ssize(log_probs); ++id)
    if (!banned.contains(id)) left += std::exp(log_probs[static_cast<size_t>(id)]);
  for (double& log_prob : log_probs) log_prob -= std::log(left);
}

/// Beam search as plainly as it can be said: every next symbol of every hypothesis is looked at.
inline std::vector<Hypothesis> plain_beam_search(const Transformer& model, const Ids& source,
                                                 const SearchOptions& options) {
  const GenerationConfig& rules = options.rules;
  const size_t beam = static_cast<size_t>(rules.beam_size), wanted = static_cast<size_t>(options.n_best);
  const size_t longest = static_cast<size_t>(std::max(
      1.0, std::floor(double{rules.length_factor} * static_cast<double>(source.size())) + rules.length_offset));
  std::set<int32_t> suppressed(rules.suppress_tokens.begin(), rules.suppress_tokens.end());
  suppressed.insert(model.config().bos);
  if (!rules.allow_unk) suppressed.insert(model.config().unk);
  std::vector<Hypothesis> live(1), finished;
  size_t slots = beam;
  for (size_t length = 1;; ++length) {
    std::vector<Hypothesis> all;
    std::set<int32_t> banned = suppressed;
    if (length <= static_cast<size_t>(rules.min_new_tokens)) banned.insert(eos);
    for (const Hypothesis& hypothesis : live) {
      auto next = next_symbols(model, source, hypothesis.ids);
      if (rules.renormalize_logits && length < longest) renormalize(next, banned);
      for (int32_t id = 0; id < model.config().target_vocab; ++id) {
        if (length == longest ? id != eos : banned.contains(id)) continue;
        all.push_back(hypothesis);
        all.back().ids.push_back(id);
        all.back().log_probability += next[static_cast<size_t>(id)];
        all.back().score = divided(rules, all.back().log_probability, length);
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Hypothesis& x, const Hypothesis& y) {
      return x.log_probability > y.log_probability;
    });
    const bool keeps = rules.finished_keeps_slot || beam == 1;
    const size_t first = length == longest ? all.size() : slots;
    live.clear();
    for (size_t place = 0; place < all.size(); ++place) {
      const bool ends = all[place].ids.back() == eos;
      if (ends && place < first) {
        finished.push_back(all[place]);
        finished.back().score += coverage_penalty(model, source, all[place].ids, rules);
      }
      if (!ends && (keeps ? place < first : live.size() < first)) live.push_back(all[place]);
    }
    if (keeps) slots = live.size();
    std::stable_sort(finished.begin(), finished.end(),
                     [](const Hypothesis& x, const Hypothesis& y) { return x.score > y.score; });
    if (live.empty()) break;
    if (rules.stopping_criterion == StoppingCriterion::beam_finished && finished.size() >= beam) break;
    if (rules.stopping_criterion == StoppingCriterion::best_cannot_improve && finished.size() >= wanted &&
        finished[wanted - 1].score >= divided(rules, live[0].log_probability, longest))
      break;
  }
  for (Hypothesis& hypothesis : finished) hypothesis.ids.pop_back();
  finished.resize(std::min(finished.size(), wanted));
  return finished;
}

}  // namespace sixfold
