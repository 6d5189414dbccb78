#include "search/ensemble.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "search/source_attention.h"

namespace sixfold {
namespace {

constexpr float forbidden = -std::numeric_limits<float>::infinity();

void forbid(std::span<float> values, std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) values[static_cast<size_t>(token)] = forbidden;
}

/// Forbids all but the tokens of a shortlist, which are in ascending order.
void forbid_others(std::span<float> values, std::span<const int32_t> shortlist) {
  if (shortlist.empty()) return;
  std::vector<float> kept(values.size(), forbidden);
  for (const int32_t token : shortlist) kept[static_cast<size_t>(token)] = values[static_cast<size_t>(token)];
  std::ranges::copy(kept, values.begin());
}

/// The averaged distribution over the next token. Most tokens are only ranked, for which one exponential for
/// each model is enough; exact log-probabilities are computed for single tokens.
class EnsembleDistribution {
 public:
  /// `logits`: those of each model; they must outlive the object.
  EnsembleDistribution(const Ensemble& ensemble, std::vector<std::span<const float>> logits)
      : ensemble_(ensemble), logits_(std::move(logits)), ranks_(logits_[0].size(), 0) {
    std::vector<float> exponentials(ranks_.size());
    for (size_t m = 0; m < logits_.size(); ++m) {
      const std::span<const float> all = logits_[m];
      const float largest = *std::ranges::max_element(all);
      double sum = 0;
      for (size_t id = 0; id < exponentials.size(); ++id)
        sum += static_cast<double>(exponentials[id] = std::exp(all[id] - largest));
      normalizers_.push_back(static_cast<double>(largest) + std::log(sum));
      const auto share = static_cast<float>(ensemble.weights[m] / sum),
                 weight = static_cast<float>(ensemble.weights[m]),
                 normalizer = static_cast<float>(normalizers_[m]);
      for (size_t id = 0; id < exponentials.size(); ++id)
        ranks_[id] += of_probabilities() ? share * exponentials[id] : weight * (all[id] - normalizer);
    }
    if (of_probabilities()) return;
    const double sum = log_sum_exp(ranks_);
    for (float& rank : ranks_) rank -= static_cast<float>(sum);
  }

  /// Probabilities or log-probabilities, depending on which of them are averaged (`EnsembleMean`).
  std::span<float> ranks() { return ranks_; }
  float lowest() const { return of_probabilities() ? 0 : forbidden; }
  float log_probability(int32_t id) const {
    const auto place = static_cast<size_t>(id);
    if (!of_probabilities()) return ranks_[place];
    // Computed from the logits, since the probability may underflow.
    std::vector<double> each;
    for (size_t m = 0; m < logits_.size(); ++m)
      each.push_back(std::log(ensemble_.weights[m]) + static_cast<double>(logits_[m][place]) - normalizers_[m]);
    const double largest = *std::ranges::max_element(each);
    double sum = 0;
    for (const double one : each) sum += std::exp(one - largest);
    return static_cast<float>(largest + std::log(sum));
  }
  std::vector<float> log_probabilities() const {
    std::vector<float> all = ranks_;
    if (of_probabilities())
      for (float& value : all) value = std::log(value);
    return all;
  }

 private:
  bool of_probabilities() const { return ensemble_.mean == EnsembleMean::probabilities; }

  const Ensemble& ensemble_;
  std::vector<std::span<const float>> logits_;
  std::vector<double> normalizers_;
  std::vector<float> ranks_;
};

/// Calls `visit(row, distribution)` for each of these rows of the states, in order. `states`: of each model,
/// [tokens, d_model]. `allowed(row)`: the tokens that may come there, in ascending order; empty: all.
template <class Allowed, class Visit>
void for_each_distribution(const Ensemble& ensemble, std::span<const Tensor> states,
                           std::span<const int32_t> rows, Context& context, const Allowed& allowed,
                           const Visit& visit) {
  constexpr size_t rows_at_once = 64;  // limits the memory of the logits
  const auto vocab = static_cast<size_t>(ensemble.models.front()->config().target_vocab);
  for (size_t begin = 0; begin < rows.size(); begin += rows_at_once) {
    const size_t count = std::min(rows_at_once, rows.size() - begin);
    std::vector<std::vector<float>> logits;  // of each model, [count, vocab]
    for (size_t m = 0; m < states.size(); ++m) {
      Tensor chunk = context.tensor(static_cast<int64_t>(count), states[m].cols(), states[m].dtype());
      const Tensor chosen = context.indices(rows.subspan(begin, count));
      context.backend().run(kernel::GatherRows{chunk.view(), states[m].view(), chosen.ids()});
      logits.push_back(ops::logits(context, chunk, ensemble.models[m]->output()).to_floats(context.backend()));
    }
    for (size_t row = 0; row < count; ++row) {
      std::vector<std::span<const float>> of_models;
      for (std::vector<float>& one : logits) {
        const std::span<float> all = std::span(one).subspan(row * vocab, vocab);
        forbid_others(all, allowed(begin + row));
        of_models.push_back(all);
      }
      EnsembleDistribution next(ensemble, std::move(of_models));
      visit(begin + row, next);
    }
  }
}

class EnsembleScorer final : public Scorer {
 public:
  explicit EnsembleScorer(const DecodeWorkspace& workspace);

  void enter(std::span<const int> requests, const IdBatch& sources,
             std::span<const std::span<const int32_t>> shortlists) override;
  void leave(int request) override;
  int64_t rows() const override;
  std::span<const Answer> score(std::span<const Extension> extensions, std::span<const Query> queries) override;

 private:
  void answer(const Query& query, EnsembleDistribution& next);

  const DecodeWorkspace& workspace_;
  std::vector<std::unique_ptr<DecodingState>> states_;  // of each model
  std::vector<std::vector<int32_t>> shortlists_;        // by request; empty: all tokens
  std::vector<int32_t> ids_;
  std::vector<float> log_probs_, logits_, given_, attention_;
  std::vector<Answer> answers_;
};

EnsembleScorer::EnsembleScorer(const DecodeWorkspace& workspace) : workspace_(workspace) {
  for (const Transformer* model : workspace.ensemble->models)
    states_.push_back(std::make_unique<DecodingState>(*model, workspace.backend));
}

void EnsembleScorer::enter(std::span<const int> requests, const IdBatch& sources,
                           std::span<const std::span<const int32_t>> shortlists) {
  for (const int request : requests)
    if (request >= std::ssize(shortlists_)) shortlists_.resize(static_cast<size_t>(request) + 1);
  std::vector<std::vector<int32_t>> copies;
  for (const auto& shortlist : shortlists) copies.emplace_back(shortlist.begin(), shortlist.end());
  size_t entered = 0;
  try {
    for (; entered < states_.size(); ++entered) {
      Context context(workspace_.backend, workspace_.arena);
      states_[entered]->enter(requests, sources, context);
    }
  } catch (...) {
    for (size_t i = 0; i < entered; ++i)
      for (const int request : requests) states_[i]->leave(request);
    throw;
  }
  for (size_t i = 0; i < requests.size(); ++i)
    shortlists_[static_cast<size_t>(requests[i])] = std::move(copies[i]);
}

void EnsembleScorer::leave(int request) {
  for (const auto& state : states_) state->leave(request);
  shortlists_[static_cast<size_t>(request)].clear();
}

int64_t EnsembleScorer::rows() const {
  int64_t rows = 0;
  for (const auto& state : states_) {
    rows += state->source().rows();
    for (const RowStore& store : state->target()) rows += store.rows();
  }
  return rows;
}

/// Appends the answer to a query.
void EnsembleScorer::answer(const Query& query, EnsembleDistribution& next) {
  const auto add = [&](int32_t id, float log_prob) {
    ids_.push_back(id);
    log_probs_.push_back(log_prob);
  };
  if (query.draw) {
    std::vector<float> log_probs = next.log_probabilities();
    std::vector<Drawn> answers = likeliest(log_probs, query.draw->likeliest);
    answers.insert(answers.begin(), draw(log_probs, *query.draw->options, query.draw->before, query.banned,
                                         query.draw->uniform));
    for (const Drawn& drawn : answers) add(drawn.id, static_cast<float>(drawn.log_probability));
    return;
  }
  float log_normalizer = 0;  // log-probability of all tokens that are not banned
  if (query.renormalize) {
    std::vector<float> log_probs = next.log_probabilities();
    forbid(log_probs, query.banned);
    log_normalizer = static_cast<float>(log_sum_exp(log_probs));
  }
  const std::span<float> ranks = next.ranks();
  std::vector<bool> banned(ranks.size());
  for (const int32_t id : query.banned) banned[static_cast<size_t>(id)] = true;
  // If one is NaN, all become NaN: sorting needs a consistent order, and the search must notice the NaN.
  const auto nan = std::ranges::find_if(ranks, [](float rank) { return std::isnan(rank); });
  if (nan != ranks.end()) std::ranges::fill(ranks, float{*nan});
  std::vector<int32_t> best;
  for (size_t id = 0; id < ranks.size(); ++id)
    if (!banned[id] && !(ranks[id] <= next.lowest())) best.push_back(static_cast<int32_t>(id));
  const auto count = std::min<std::ptrdiff_t>(query.top_k, std::ssize(best));
  std::ranges::partial_sort(best, best.begin() + count, [&](int32_t a, int32_t b) {
    const float first = ranks[static_cast<size_t>(a)], second = ranks[static_cast<size_t>(b)];
    return first > second || (!(first < second) && a < b);
  });
  for (const int32_t id : std::span(best).first(static_cast<size_t>(count)))
    add(id, next.log_probability(id) - log_normalizer);
  for (const int32_t id : query.listed) {
    add(id, query.renormalize && banned[static_cast<size_t>(id)] ? forbidden
                                                                 : next.log_probability(id) - log_normalizer);
    if (query.logits) logits_.push_back(log_probs_.back());
  }
}

std::span<const Answer> EnsembleScorer::score(std::span<const Extension> extensions,
                                              std::span<const Query> queries) {
  const std::vector<QueryPlace> query_places = places_of(extensions, queries);
  const Ensemble& ensemble = *workspace_.ensemble;
  const int vocab = ensemble.models.front()->config().target_vocab;
  for (const Query& query : queries) {
    require(query.given_likeliest == 0 && query.tokens_behind == 0,
            "an ensemble has no likeliest tokens in given places, and one query for each extension");
    for (const auto& tokens : {query.banned, query.listed})
      for (const int32_t token : tokens)
        require(token >= 0 && token < vocab, "token {} is not in the vocabulary of {}", token, vocab);
  }
  ids_.clear(), log_probs_.clear(), logits_.clear(), given_.clear(), attention_.clear(), answers_.clear();
  // Of each extension, the rows of states that predict its given tokens, and the last one its next token.
  std::vector<int32_t> rows;
  std::vector<size_t> extension_of;  // by index of these rows
  for (size_t i = 0; i < queries.size(); ++i) {
    const size_t tokens = extensions[i].tokens.size(), given = queries[i].given;
    require(given < tokens, "{} tokens are given, but the extension has {}", given, tokens);
    for (size_t row = query_places[i].row - given; row <= query_places[i].row; ++row)
      rows.push_back(static_cast<int32_t>(row)), extension_of.push_back(i);
  }
  Context context(workspace_.backend, workspace_.arena);
  SourceAttention attention(queries);
  std::vector<Tensor> states;  // for each model, those of all tokens of the extensions
  for (const auto& state : states_)
    states.push_back(
        state->extend(extensions, context, states.empty() && !attention.empty() ? &attention : nullptr));
  attention.append_sums(extensions, queries, query_places, *states_.front(), *workspace_.backend, attention_);
  struct End {
    size_t id, logit, given;
  };
  std::vector<End> ends;
  for_each_distribution(
      ensemble, states, rows, context,
      [&](size_t row) -> std::span<const int32_t> {
        return shortlists_[static_cast<size_t>(extensions[extension_of[row]].request)];
      },
      [&](size_t row, EnsembleDistribution& next) {
        const size_t i = extension_of[row];
        const auto left = query_places[i].row - static_cast<size_t>(rows[row]);  // rows after this one
        if (left > 0) {
          given_.push_back(next.log_probability(extensions[i].tokens.last(left)[0]));
          return;
        }
        answer(queries[i], next);
        ends.push_back({ids_.size(), logits_.size(), given_.size()});
      });
  End begin{};
  size_t seen = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    const End& end = ends[i];
    const size_t sources = SourceAttention::sums_of(queries[i], extensions[i], *states_.front());
    answers_.push_back({.ids = std::span(ids_).subspan(begin.id, end.id - begin.id),
                        .log_probs = std::span(log_probs_).subspan(begin.id, end.id - begin.id),
                        .logits = std::span(logits_).subspan(begin.logit, end.logit - begin.logit),
                        .given = std::span(given_).subspan(begin.given, end.given - begin.given),
                        .attention = std::span(attention_).subspan(seen, sources)});
    begin = end, seen += sources;
  }
  return answers_;
}

}  // namespace

std::vector<double> ensemble_log_probabilities(const Ensemble& ensemble, std::span<const Tensor> states,
                                               std::span<const int32_t> tokens,
                                               std::span<const int32_t> allowed, Context& context) {
  std::vector<int32_t> rows(tokens.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<double> all;
  for_each_distribution(
      ensemble, states, rows, context, [&](size_t) { return allowed; },
      [&](size_t row, const EnsembleDistribution& next) {
        all.push_back(static_cast<double>(next.log_probability(tokens[row])));
      });
  return all;
}

std::unique_ptr<Scorer> make_ensemble_scorer(const DecodeWorkspace& workspace) {
  return std::make_unique<EnsembleScorer>(workspace);
}

}  // namespace sixfold
