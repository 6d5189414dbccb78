#include "search/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/error.h"

namespace sixfold {
namespace {

/// Returns the rules. Throws an input error if they do not fit the model.
const GenerationConfig& checked_rules(const ModelConfig& model, const GenerationConfig& rules, int n_best) {
  require_decoder(model, "search");
  validate(rules, model.target_vocab);
  require(rules.forced_first_token != model.eos,
          "forced_first_token is {}, the end token; every output would be empty", rules.forced_first_token);
  require(rules.coverage_penalty == 0 || model.alignment_layer(rules) < model.decoder_layers,
          "generation.alignment_layer is {}, but the decoder has layers 0 to {}", rules.alignment_layer,
          model.decoder_layers - 1);
  require(n_best >= 1, "n_best is {}; it must be at least 1", n_best);
  require(
      n_best <= rules.beam_size,
      "n_best is {}, but beam_size is {}, and a search finds no more than it keeps; give a beam_size of {} or "
      "more, or leave it out",
      n_best, rules.beam_size, n_best);
  return rules;
}

/// The log-probability of a token with the repetition penalty. As in transformers, greedy search applies the
/// penalty to the logit, which is passed then, and beam search to the log-probability.
float penalized(float log_probability, std::optional<float> logit, float penalty) {
  if (!logit) return log_probability * penalty;
  return log_probability + (*logit > 0 ? *logit / penalty : *logit * penalty) - *logit;
}

void insert(std::vector<int32_t>& sorted, int32_t id) {
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), id);
  if (place == sorted.end() || *place != id) sorted.insert(place, id);
}

}  // namespace

BeamPlan::BeamPlan(const ModelConfig& model, const GenerationConfig& search_rules, int hypotheses,
                   const std::vector<int32_t>& other_ends)
    : rules(checked_rules(model, search_rules, hypotheses)),
      n_best(hypotheses),
      vocab(model.target_vocab),
      start{model.decoder_start_token, model.generation.start_before_text},
      eos(model.eos),
      more_ends(other_ends),
      context(model.context_tokens),
      longest(model.limits_length() ? model.max_positions : std::numeric_limits<int>::max()),
      attention_layer(rules.coverage_penalty > 0 ? model.alignment_layer(rules) : -1),
      restrictions(restrictions_of(model, rules, more_ends)),
      max_banned_(tokens_never_generated(model, rules).size() +
                  (rules.min_new_tokens > 0 ? 1 + more_ends.size() : 0) + rules.begin_suppress_tokens.size() +
                  rules.suppress_phrases.size()) {
  const bool reads_start = model.continues_text() && start.before_text;  // as `generate` of transformers counts
  if (rules.repetition_penalty != 1)
    restrictions.push_back(
        std::make_unique<RepetitionPenalty>(rules.repetition_penalty, reads_start ? start.token : -1));
}

LexicalConstraints BeamPlan::completed(LexicalConstraints constraints) const {
  if (rules.forced_first_token >= 0)
    constraints.prefix.insert(constraints.prefix.begin(), rules.forced_first_token);
  for (const int32_t id : constraints.prefix)
    require(id >= 0 && id < vocab, "token {} of the prefix is not in the vocabulary of {}", id, vocab);
  for (size_t i = 0; i < constraints.banned_phrases.size(); ++i)
    require(!constraints.banned_phrases[i].empty(), "banned phrase {} is empty", i + 1);
  return constraints;
}

std::vector<int32_t> BeamPlan::complete(std::vector<int32_t> ids, const LexicalConstraints& constraints) const {
  insert(ids, eos);
  if (rules.forced_first_token >= 0) insert(ids, rules.forced_first_token);
  for (const int32_t id : constraints.tokens()) insert(ids, id);
  const PhraseSet phrases(constraints.phrases);
  const size_t needed =
      static_cast<size_t>(Beam::candidates(rules, phrases)) + max_banned_ + constraints.banned_phrases.size();
  const size_t enough = std::min(static_cast<size_t>(vocab), needed);
  for (int32_t id = 0; ids.size() < enough; ++id) insert(ids, id);
  return ids;
}

/// If the prefix is as long as the longest output, or longer, only the end token follows it, or with
/// `AtLongest::cut` one token.
int BeamPlan::longest_with(int source_tokens, const LexicalConstraints& constraints) const {
  const auto prefix = static_cast<int>(constraints.prefix.size());
  require(prefix < longest, "the prefix of the output has {} tokens, but the model's outputs have at most {}",
          prefix, longest - 1);
  return std::min(longest, std::max(max_output_length(rules, source_tokens), prefix + 1));
}

BeamSearch::BeamSearch(std::shared_ptr<const BeamPlan> plan, int source_tokens, LexicalConstraints constraints,
                       SearchObserver* observer)
    : plan_(std::move(plan)),
      constraints_(plan_->completed(std::move(constraints))),
      phrases_(constraints_.phrases, constraints_.word_goes_on, constraints_.continues_word),
      phrase_tokens_(
          LexicalConstraints{.prefix = {}, .phrases = constraints_.phrases, .banned_phrases = {}}.tokens()),
      ban_phrases_(constraints_.banned_phrases),
      beam_(plan_->rules, {.eos = plan_->eos,
                           .longest = plan_->longest_with(source_tokens, constraints_),
                           .n_best = plan_->n_best,
                           .prefix = constraints_.prefix,
                           .phrases = phrases_.empty() ? nullptr : &phrases_,
                           .observer = observer}),
      window_(plan_->context, plan_->start) {}

BeamSearch::BeamSearch(std::shared_ptr<const BeamPlan> plan, std::vector<int32_t> prompt, int longest)
    : plan_(std::move(plan)),
      ban_phrases_({}),
      beam_(plan_->rules,
            {.eos = plan_->eos, .more_ends = plan_->more_ends, .longest = longest, .n_best = plan_->n_best}),
      prompt_(std::move(prompt)),
      window_(plan_->context, plan_->start) {}

/// The prompt, then the tokens of a hypothesis.
std::vector<int32_t> BeamSearch::text_of(const LiveHypothesis& hypothesis) const {
  std::vector<int32_t> text = prompt_;
  text.insert(text.end(), hypothesis.ids.begin(), hypothesis.ids.end());
  return text;
}

/// The query about the next token, under the restrictions.
Query BeamSearch::query_after(const LiveHypothesis& hypothesis, LogitEdits& edits, PenaltyLists& lists) const {
  if (beam_.must_end())  // with certain_end the end token has probability 1: there is nothing to query
    return plan_->rules.at_longest == AtLongest::end_symbol ? Query{.listed = {&plan_->eos, 1}} : Query{};
  edits.clear();
  const std::vector<int32_t> whole = prompt_.empty() ? std::vector<int32_t>() : text_of(hypothesis);
  const RestrictedText text{prompt_.empty() ? hypothesis.ids : whole, prompt_.size()};
  for (const auto& restriction : plan_->restrictions) restriction->edit(text, edits);
  ban_phrases_.edit(text, edits);
  Query query{
      .top_k = std::min(Beam::candidates(plan_->rules, phrases_, 1 + static_cast<int>(plan_->more_ends.size())),
                        plan_->vocab),
      .banned = edits.banned,
      .renormalize = plan_->rules.renormalize_logits,
      .listed = phrase_tokens_};
  if (edits.penalized.empty()) return query;
  // The query excludes penalized tokens from the most probable ones, and lists them instead.
  lists.banned = edits.banned;
  lists.banned.insert(lists.banned.end(), edits.penalized.begin(), edits.penalized.end());
  lists.listed = phrase_tokens_;
  for (const int32_t id : edits.penalized)
    if (!std::ranges::binary_search(phrase_tokens_, id)) lists.listed.push_back(id);
  query.banned = lists.banned, query.listed = lists.listed;
  query.logits = plan_->rules.beam_size == 1;
  return query;
}

/// Appends the answer for a hypothesis to `ids_` and `log_probs_`, under the edits. `listed`: number of listed
/// tokens.
void BeamSearch::append_answer(const Answer& answer, const LogitEdits& edits, size_t listed) {
  const size_t begin = ids_.size();
  ids_.insert(ids_.end(), answer.ids.begin(), answer.ids.end());
  log_probs_.insert(log_probs_.end(), answer.log_probs.begin(), answer.log_probs.end());
  // If too few other tokens are left, the answer also has banned ones, with -infinity. Some of them are listed
  // too, with their log-probabilities, so only the listed entries are used.
  for (size_t j = begin; j + listed < ids_.size(); ++j)
    if (std::isinf(log_probs_[j])) ids_[j] = -1;
  for (size_t i = 0, j = ids_.size() - listed; i < listed; ++i, ++j) {
    if (std::ranges::find(edits.banned, ids_[j]) != edits.banned.end())
      ids_[j] = -1;  // a token of a phrase may be banned here
    else if (std::ranges::binary_search(edits.penalized, ids_[j]))
      log_probs_[j] = penalized(
          log_probs_[j], answer.logits.empty() ? std::nullopt : std::optional(answer.logits[i]), edits.penalty);
  }
  const size_t missing = begin + answer_size_ - ids_.size();
  ids_.resize(ids_.size() + missing, -1), log_probs_.resize(log_probs_.size() + missing, 0);
}

void BeamSearch::ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) {
  const auto& live = beam_.live();
  edits_.resize(std::max(edits_.size(), live.size()));
  penalty_lists_.resize(edits_.size());
  listed_.clear();
  const ReadingWindow::Step step = window_.next(prompt_.size() + static_cast<size_t>(beam_.length()));
  window_tokens_.clear();
  if (step.begins)
    for (const LiveHypothesis& hypothesis : live)
      window_tokens_.push_back(window_.begin(text_of(hypothesis), step));
  for (size_t i = 0; i < live.size(); ++i) {
    const LiveHypothesis& hypothesis = live[i];
    const auto tokens =
        step.begins ? std::span<const int32_t>(window_tokens_[i]) : std::span(hypothesis.ids).last(1);
    extensions.push_back({request, hypothesis.parent, tokens, step.begins});
    queries.push_back(query_after(hypothesis, edits_[i], penalty_lists_[i]));
    listed_.push_back(beam_.must_end() ? 0 : queries.back().listed.size());
    queries.back().attention_layer = plan_->attention_layer;
    if (!begun_) queries.back().given = constraints_.prefix.size();
  }
}

void BeamSearch::advance(std::span<const Answer> answers) {
  if (!begun_) {
    // The probability of the forced first token counts as 1, as in transformers.
    auto prefix = answers.front().given;
    if (!prefix.empty() && plan_->rules.forced_first_token >= 0) prefix = prefix.subspan(1);
    beam_.set_prefix_log_probability(std::accumulate(prefix.begin(), prefix.end(), 0.0));
    begun_ = true;
  }
  if (plan_->attention_layer >= 0)
    for (size_t i = 0; i < answers.size(); ++i) beam_.add_coverage(i, answers[i].attention);
  ids_.clear(), log_probs_.clear();
  answer_size_ = 0;
  for (const Answer& answer : answers) answer_size_ = std::max(answer_size_, answer.ids.size());
  for (size_t i = 0; i < answers.size(); ++i) append_answer(answers[i], edits_[i], listed_[i]);
  if (!beam_.must_end()) return beam_.extend(ids_, log_probs_);
  log_probs_.resize(answers.size());  // 0 if nothing was queried: the end token is certain
  beam_.force_end(log_probs_);
}

}  // namespace sixfold
