#include "search/scorer.h"

#include <algorithm>
#include <limits>

#include "search/ensemble.h"
#include "search/output_rows.h"
#include "search/source_attention.h"

namespace sixfold {
namespace {

/// Returns the states in these places, [places, d_model].
Tensor rows_of(const Tensor& states, std::span<const QueryPlace> places, Context& context) {
  if (states.rows() == std::ssize(places)) return states;  // each of them
  std::vector<int32_t> rows;
  for (const QueryPlace& place : places) rows.push_back(static_cast<int32_t>(place.row));
  Tensor chosen = context.tensor(std::ssize(rows), states.cols(), states.dtype());
  context.backend().run(kernel::GatherRows{chosen.view(), states.view(), context.indices(rows).ids()});
  return chosen;
}

/// Whether the queries can be answered by the same matrix products.
bool share_products(const Query& a, const Query& b) {
  if (a.draw || b.draw) return a.draw && b.draw;  // whatever the random numbers are
  return a.top_k == b.top_k && a.renormalize == b.renormalize && std::ranges::equal(a.banned, b.banned) &&
         std::ranges::equal(a.listed, b.listed) && a.logits == b.logits;
}

/// The scorer of one model. It computes the output layer in chunks; neighbouring hypotheses with equal queries
/// and the same shortlist share a matrix product. In int8, queries for the most probable tokens alone that are
/// equal but for their shortlists share a call, which reads the rows of the weight.
class ModelScorer final : public Scorer {
 public:
  explicit ModelScorer(const DecodeWorkspace& workspace);

  void enter(std::span<const int> requests, const IdBatch& sources,
             std::span<const std::span<const int32_t>> shortlists) override;
  void leave(int request) override;
  int64_t rows() const override;
  std::span<const Answer> score(std::span<const Extension> extensions, std::span<const Query> queries) override;

 private:
  OutputRows& output_of(int request);
  /// Values of the listed tokens, both [states, listed].
  struct Listed {
    std::vector<float> log_probs, logits;
  };
  Listed listed(const Query& query, OutputRows& output, const Tensor& states, Context& context) const;
  void add_given(const Extension& extension, const Query& query, const Tensor& states, Context& context);
  Tensor read(std::span<const Extension> extensions, std::span<const Query> queries, Context& context);
  Tensor read_once(std::span<const Extension> extensions, std::span<const Query> queries,
                   std::span<const QueryPlace> places, Context& context);
  bool is_prompt(std::span<const Extension> extensions, const QueryPlace& place, const Query& query) const;
  std::vector<bool> repeating(std::span<const Extension> extensions, std::span<const Query> queries,
                              std::span<const QueryPlace> places) const;
  void check_tokens(const Query& query) const;
  void answer(const Query& query, OutputRows& output, const Tensor& states, Context& context);
  bool reads_rows(const Query& query, const OutputRows& output) const;
  void answer_listed(std::span<const Query> queries, std::span<OutputRows* const> outputs, const Tensor& states,
                     Context& context);
  void draw_each(std::span<const Query> queries, OutputRows& output, const Tensor& states, Context& context);
  void draw_one(const Query& query, const OutputRows& output, std::span<float> logits, size_t vocab);

  const DecodeWorkspace& workspace_;
  DecodingState state_;
  bool shares_beginnings_;  // whether prompts continue from rows of other prompts
  OutputRows all_;
  std::vector<std::unique_ptr<OutputRows>> shortlisted_;  // by number of the request; null: it uses `all_`
  // Of all answers, concatenated.
  std::vector<int32_t> ids_, given_ids_;
  std::vector<float> log_probs_, logits_, given_, given_log_probs_, attention_;
  std::vector<size_t> ends_;
  std::vector<Answer> answers_;
};

ModelScorer::ModelScorer(const DecodeWorkspace& workspace)
    : workspace_(workspace),
      state_(workspace.model, workspace.backend),
      shares_beginnings_(DecodingState::keeps_beginnings(workspace.model)),
      all_(workspace.model.output(), workspace.backend) {}

void ModelScorer::enter(std::span<const int> requests, const IdBatch& sources,
                        std::span<const std::span<const int32_t>> shortlists) {
  std::vector<std::unique_ptr<OutputRows>> outputs(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto ids = shortlists[i];
    if (ids.empty()) continue;
    outputs[i] = std::make_unique<OutputRows>(all_.weights(), ids, workspace_.backend);
  }
  const auto largest = std::max_element(requests.begin(), requests.end());
  if (largest != requests.end() && *largest >= std::ssize(shortlisted_))
    shortlisted_.resize(static_cast<size_t>(*largest) + 1);
  Context context(workspace_.backend, workspace_.arena);
  state_.enter(requests, sources, context);  // nothing after this may fail
  for (size_t i = 0; i < requests.size(); ++i)
    shortlisted_[static_cast<size_t>(requests[i])] = std::move(outputs[i]);
}

void ModelScorer::leave(int request) {
  state_.leave(request);
  shortlisted_[static_cast<size_t>(request)].reset();
}

int64_t ModelScorer::rows() const {
  int64_t rows = state_.source().rows();
  for (const RowStore& store : state_.target()) rows += store.rows();
  return rows;
}

OutputRows& ModelScorer::output_of(int request) {
  const auto& shortlisted = shortlisted_[static_cast<size_t>(request)];
  return shortlisted ? *shortlisted : all_;
}

/// Returns the log-probabilities of the listed tokens after each state, [states, listed]. The normalization is
/// computed for one of them: the log-probabilities of others differ from it by the difference of the logits.
ModelScorer::Listed ModelScorer::listed(const Query& query, OutputRows& output, const Tensor& states,
                                        Context& context) const {
  if (query.listed.empty()) return {};
  const auto count = static_cast<size_t>(states.rows()), size = query.listed.size();
  const std::vector<int32_t> rows = output.rows_of(query.listed);
  require(rows.size() == size, "a listed token is not in the shortlist");
  const std::vector<int32_t> banned = query.renormalize ? output.rows_of(query.banned) : std::vector<int32_t>();
  const auto is_banned = [&](int32_t row) { return std::ranges::find(banned, row) != banned.end(); };
  std::vector<float> all(count * size, -std::numeric_limits<float>::infinity());
  const auto chosen = std::ranges::find_if_not(rows, is_banned);
  if (chosen == rows.end()) return {all, query.logits ? all : std::vector<float>()};
  const auto base = static_cast<size_t>(chosen - rows.begin());
  const std::vector<int32_t> base_rows(count, *chosen);
  const std::vector<float> base_log_probs =
      ops::log_probability(context, states, output.without(banned), context.indices(base_rows))
          .to_floats(context.backend());
  if (size == 1 && !query.logits) return {base_log_probs, {}};
  const std::vector<float> logits =
      ops::logits(context, states, output.selected(rows)).to_floats(context.backend());
  for (size_t row = 0; row < count; ++row)
    for (size_t i = 0, at = row * size; i < size; ++i)
      if (!is_banned(rows[i])) all[at + i] = base_log_probs[row] + (logits[at + i] - logits[at + base]);
  return {all, query.logits ? logits : std::vector<float>()};
}

/// Appends the log-probabilities of the given tokens of an extension. `states`: those of its tokens.
void ModelScorer::add_given(const Extension& extension, const Query& query, const Tensor& states,
                            Context& context) {
  if (query.given == 0) return;
  require(query.tokens_behind == 0, "tokens are given for the last query of an extension alone");
  require(query.given < extension.tokens.size(), "{} tokens are given, but the extension has {}", query.given,
          extension.tokens.size());
  OutputRows& output = output_of(extension.request);
  const std::vector<int32_t> rows = output.rows_of(extension.tokens.last(query.given));
  require(rows.size() == query.given, "a given token is not in the shortlist");
  const auto count = static_cast<int64_t>(query.given);
  const Tensor before = states.slice_rows(states.rows() - 1 - count, count);
  const auto values = ops::log_probability(context, before, output.weights(), context.indices(rows))
                          .to_floats(context.backend());
  given_.insert(given_.end(), values.begin(), values.end());
  if (query.given_likeliest == 0) return;
  require(output.has_all_tokens(), "the likeliest tokens in given places are not known of a shortlist");
  const ops::Candidates best = ops::top_k(context, before, output.weights(), query.given_likeliest, {});
  given_ids_.insert(given_ids_.end(), best.ids.begin(), best.ids.end());
  given_log_probs_.insert(given_log_probs_.end(), best.log_probs.begin(), best.log_probs.end());
}

void ModelScorer::check_tokens(const Query& query) const {
  for (const auto& tokens : {query.banned, query.listed})
    for (const int32_t token : tokens)
      require(token >= 0 && token < all_.size(), "token {} is not in the vocabulary of {}", token, all_.size());
}

void ModelScorer::answer(const Query& query, OutputRows& output, const Tensor& states, Context& context) {
  const auto rows = static_cast<size_t>(states.rows());
  check_tokens(query);
  ops::Candidates best;
  if (query.top_k > 0) {
    const std::vector<int32_t> banned = output.rows_of(query.banned);
    const int k = static_cast<int>(std::min<int64_t>(query.top_k, output.size()));
    best = ops::top_k(context, states, query.renormalize ? output.without(banned) : output.weights(), k,
                      banned.empty() ? Tensor() : context.indices(banned));
  }
  const Listed listed_answers = listed(query, output, states, context);
  const auto k = static_cast<size_t>(best.k);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = row * k; i < (row + 1) * k; ++i) {
      const int32_t id = best.ids[i];
      ids_.push_back(output.id_of(id));
      log_probs_.push_back(best.log_probs[i]);
    }
    for (size_t i = 0; i < query.listed.size(); ++i) {
      ids_.push_back(query.listed[i]);
      log_probs_.push_back(listed_answers.log_probs[row * query.listed.size() + i]);
    }
    ends_.push_back(ids_.size());
  }
  logits_.insert(logits_.end(), listed_answers.logits.begin(), listed_answers.logits.end());
}

/// Whether `answer_listed` can answer a query: it asks for the most probable tokens of a shortlist alone.
bool ModelScorer::reads_rows(const Query& query, const OutputRows& output) const {
  const bool asks_for_more = query.renormalize || !query.listed.empty() || query.draw;
  return query.top_k > 0 && !asks_for_more && !output.has_all_tokens() &&
         workspace_.model.output().weight.dtype() == DType::i8;
}

/// Answers queries with shortlists, which are equal but for these.
void ModelScorer::answer_listed(std::span<const Query> queries, std::span<OutputRows* const> outputs,
                                const Tensor& states, Context& context) {
  check_tokens(queries.front());
  std::vector<ops::ListedRows> lists;
  for (size_t i = 0; i < queries.size(); ++i) {
    if (i == 0 || outputs[i] != outputs[i - 1])
      lists.push_back({.ids = outputs[i]->ids(), .banned = outputs[i]->rows_of(queries[i].banned)});
    ++lists.back().rows;
  }
  const ops::Candidates best = ops::top_k_listed(context, states, all_.weights(), queries.front().top_k, lists);
  const auto k = static_cast<size_t>(best.k);
  for (size_t row = 0; row < queries.size(); ++row) {
    const size_t begin = row * k, end = begin + std::min(k, static_cast<size_t>(outputs[row]->size()));
    for (size_t i = begin; i < end; ++i) {
      ids_.push_back(outputs[row]->id_of(best.ids[i]));
      log_probs_.push_back(best.log_probs[i]);
    }
    ends_.push_back(ids_.size());
  }
}

/// Draws a token for each row on its own. The logits of up to `rows_at_once` rows are computed in one product.
void ModelScorer::draw_each(std::span<const Query> queries, OutputRows& output, const Tensor& states,
                            Context& context) {
  constexpr size_t rows_at_once = 64;  // bounds the memory of logits
  const auto vocab = static_cast<size_t>(all_.size()), size = static_cast<size_t>(output.size());
  for (size_t begin = 0; begin < queries.size(); begin += rows_at_once) {
    const size_t count = std::min(rows_at_once, queries.size() - begin);
    const Tensor some = states.slice_rows(static_cast<int64_t>(begin), static_cast<int64_t>(count));
    std::vector<float> logits = ops::logits(context, some, output.weights()).to_floats(context.backend());
    for (size_t row = 0; row < count; ++row)
      draw_one(queries[begin + row], output, std::span(logits).subspan(row * size, size), vocab);
  }
}

/// Appends the answer to a query that draws a token. Changes the logits.
void ModelScorer::draw_one(const Query& query, const OutputRows& output, std::span<float> logits,
                           size_t vocab) {
  for (const auto& tokens : {query.banned, query.draw->before})
    for (const int32_t token : tokens)
      require(token >= 0 && token < static_cast<int64_t>(vocab), "token {} is not in the vocabulary of {}",
              token, vocab);
  std::vector<Drawn> answers = likeliest(logits, query.draw->likeliest);  // before the logits are changed
  answers.insert(answers.begin(), draw(logits, *query.draw->options, output.rows_of(query.draw->before),
                                       output.rows_of(query.banned), query.draw->uniform));
  for (const Drawn& drawn : answers) {
    ids_.push_back(output.id_of(drawn.id));
    log_probs_.push_back(static_cast<float>(drawn.log_probability));
  }
  ends_.push_back(ids_.size());
}

/// Whether the extension of a query is a prompt that can continue from the rows of another one. The hypotheses
/// of a beam, which begin a window together, are none.
bool ModelScorer::is_prompt(std::span<const Extension> extensions, const QueryPlace& place,
                            const Query& query) const {
  const Extension& extension = extensions[place.extension];
  const auto is_sibling = [&](size_t other) {
    return other < extensions.size() && extensions[other].request == extension.request;
  };
  return shares_beginnings_ && extension.new_sequence && query.tokens_behind == 0 && query.given == 0 &&
         extension.tokens.size() > kernel::Attention::few_queries && !is_sibling(place.extension + 1) &&
         !is_sibling(place.extension - 1);
}

/// Returns for each extension whether it is a prompt that shares more with an earlier one of the call than with
/// those that were read before.
std::vector<bool> ModelScorer::repeating(std::span<const Extension> extensions, std::span<const Query> queries,
                                         std::span<const QueryPlace> places) const {
  std::vector<bool> repeat(extensions.size());
  std::vector<std::span<const int32_t>> first;
  for (size_t i = 0; i < queries.size(); ++i) {
    const Extension& extension = extensions[places[i].extension];
    if (!is_prompt(extensions, places[i], queries[i])) continue;
    const auto shared = [&](std::span<const int32_t> other) {
      return DecodingState::shareable(extension.tokens, other);
    };
    const size_t kept = state_.kept_beginning(extension.tokens);
    repeat[places[i].extension] = std::ranges::any_of(first, [&](auto other) { return shared(other) > kept; });
    if (!repeat[places[i].extension]) first.push_back(extension.tokens);
  }
  return repeat;
}

/// Extends hypotheses, and returns the state of the token that each query asks about, [queries, d_model].
/// Prompts with a common beginning read it once: those that repeat another one follow it.
Tensor ModelScorer::read(std::span<const Extension> extensions, std::span<const Query> queries,
                         Context& context) {
  const std::vector<QueryPlace> places = places_of(extensions, queries);
  const std::vector<bool> repeat = repeating(extensions, queries, places);
  if (std::ranges::count(repeat, true) == 0) return read_once(extensions, queries, places, context);
  Tensor states =
      context.tensor(std::ssize(queries), workspace_.model.config().d_model, workspace_.model.dtype());
  for (const bool repeats : {false, true}) {
    std::vector<Extension> some_extensions;
    std::vector<Query> some_queries;
    std::vector<int32_t> rows;
    for (size_t i = 0; i < extensions.size(); ++i)
      if (repeat[i] == repeats) some_extensions.push_back(extensions[i]);
    for (size_t i = 0; i < queries.size(); ++i) {
      if (repeat[places[i].extension] != repeats) continue;
      some_queries.push_back(queries[i]);
      rows.push_back(static_cast<int32_t>(i));
    }
    const Tensor some =
        read_once(some_extensions, some_queries, places_of(some_extensions, some_queries), context);
    context.backend().run(kernel::CopyRows{states.view(), context.indices(rows).ids(), some.view()});
  }
  return states;
}

Tensor ModelScorer::read_once(std::span<const Extension> extensions, std::span<const Query> queries,
                              std::span<const QueryPlace> places, Context& context) {
  std::vector<Extension> rest(extensions.begin(), extensions.end());
  std::vector<const Extension*> prompts;
  for (size_t i = 0; i < queries.size(); ++i) {
    Extension& extension = rest[places[i].extension];
    if (!is_prompt(extensions, places[i], queries[i])) continue;
    prompts.push_back(&extensions[places[i].extension]);
    const size_t shared = state_.share_beginning(extension.request, extension.tokens);
    extension.tokens = extension.tokens.subspan(shared);
    if (shared > 0) extension.parent = 0, extension.new_sequence = false;
  }
  const std::vector<QueryPlace> read_places = places_of(rest, queries);
  SourceAttention attention(queries);
  const Tensor all = state_.extend(rest, context, attention.empty() ? nullptr : &attention);
  for (const Extension* prompt : prompts) state_.keep_beginning(prompt->request, prompt->tokens);
  attention.append_sums(rest, queries, read_places, state_, *workspace_.backend, attention_);
  for (size_t i = 0; i < queries.size(); ++i) {
    const Extension& extension = rest[read_places[i].extension];
    const auto first_row = static_cast<int64_t>(read_places[i].first_row);
    add_given(extension, queries[i], all.slice_rows(first_row, std::ssize(extension.tokens)), context);
  }
  return rows_of(all, read_places, context);
}

std::span<const Answer> ModelScorer::score(std::span<const Extension> extensions,
                                           std::span<const Query> queries) {
  const std::vector<QueryPlace> places = places_of(extensions, queries);
  Context context(workspace_.backend, workspace_.arena);
  ids_.clear(), log_probs_.clear(), ends_.clear(), answers_.clear();
  logits_.clear(), given_.clear(), given_ids_.clear(), given_log_probs_.clear();
  attention_.clear();
  const Tensor states = read(extensions, queries, context);
  std::vector<OutputRows*> outputs;
  for (const QueryPlace& place : places) outputs.push_back(&output_of(extensions[place.extension].request));
  for (size_t begin = 0, end = 0; begin < queries.size(); begin = end) {
    OutputRows& output = *outputs[begin];
    const bool listed = reads_rows(queries[begin], output);
    while (end < queries.size() && share_products(queries[begin], queries[end]) &&
           (outputs[end] == &output || (listed && !outputs[end]->has_all_tokens())))
      ++end;
    const size_t count = end - begin;
    const Tensor group = states.slice_rows(static_cast<int64_t>(begin), static_cast<int64_t>(count));
    if (listed)
      answer_listed(queries.subspan(begin, count), std::span(outputs).subspan(begin, count), group, context);
    else if (queries[begin].draw)
      draw_each(queries.subspan(begin, count), output, group, context);
    else
      answer(queries[begin], output, group, context);
  }
  for (size_t i = 0, begin = 0, given = 0, best = 0, listed = 0, seen = 0; i < ends_.size();
       begin = ends_[i++]) {
    const size_t count = queries[i].given, likeliest = count * static_cast<size_t>(queries[i].given_likeliest);
    const size_t sources = SourceAttention::sums_of(queries[i], extensions[places[i].extension], state_);
    const size_t logits = queries[i].logits ? queries[i].listed.size() : 0;
    answers_.push_back(
        {std::span(ids_).subspan(begin, ends_[i] - begin),
         std::span(log_probs_).subspan(begin, ends_[i] - begin), std::span(logits_).subspan(listed, logits),
         std::span(given_).subspan(given, count), std::span(given_ids_).subspan(best, likeliest),
         std::span(given_log_probs_).subspan(best, likeliest), std::span(attention_).subspan(seen, sources)});
    given += count, best += likeliest, listed += logits, seen += sources;
  }
  return answers_;
}

}  // namespace

std::vector<QueryPlace> places_of(std::span<const Extension> extensions, std::span<const Query> queries) {
  std::vector<QueryPlace> places;
  size_t query = 0, first_row = 0;
  for (size_t i = 0; i < extensions.size(); ++i) {
    const size_t tokens = extensions[i].tokens.size(),
                 asked = query < queries.size() ? queries[query].tokens_behind + 1 : 0;
    require(asked > 0 && asked <= tokens && asked <= queries.size() - query,
            "extension {} of {} has {} tokens, and no queries for them", i, extensions.size(), tokens);
    for (size_t behind = asked; behind-- > 0; ++query) {
      require(queries[query].tokens_behind == behind, "the queries of extension {} are not in order", i);
      places.push_back({i, first_row, first_row + tokens - 1 - behind});
    }
    first_row += tokens;
  }
  require(query == queries.size(), "{} queries, but the extensions have {}", queries.size(), query);
  return places;
}

std::unique_ptr<Scorer> make_scorer(const DecodeWorkspace& workspace) {
  if (workspace.ensemble) return make_ensemble_scorer(workspace);
  return std::make_unique<ModelScorer>(workspace);
}

}  // namespace sixfold
