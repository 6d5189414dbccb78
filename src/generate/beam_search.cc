#include "generate/beam_search.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace sixfold {
namespace {

/// The tokens that never occur in an output: those of `suppress_tokens`, and the start token.
std::vector<int32_t> suppressed_tokens(const ModelConfig& model, const GenerationConfig& rules) {
  std::vector<int32_t> tokens(rules.suppress_tokens.begin(), rules.suppress_tokens.end());
  if (model.bos >= 0 && model.bos != model.eos) tokens.push_back(model.bos);
  return tokens;
}

void check(const ModelConfig& model, const GenerationConfig& rules, int n_best) {
  require(model.has_decoder(), "search: the model has no decoder (decoder_layers is 0)");
  require(rules.beam_size >= 1, "beam_size is {}; it must be at least 1", rules.beam_size);
  require(n_best >= 1 && n_best <= rules.beam_size,
          "n_best is {}; it must be at least 1 and no more than the beam size, {}", n_best, rules.beam_size);
  for (const int id : rules.suppress_tokens)
    require(id >= 0 && id < model.target_vocab, "suppress_tokens has {}, but the vocabulary has {} tokens", id,
            model.target_vocab);
}

void insert(std::vector<int32_t>& sorted, int32_t id) {
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), id);
  if (place == sorted.end() || *place != id) sorted.insert(place, id);
}

}  // namespace

BeamPlan::BeamPlan(const ModelConfig& model, const GenerationConfig& chosen, int best)
    : rules((check(model, chosen, best), chosen)),
      n_best(best),
      vocab(model.target_vocab),
      start{model.decoder_start_token, model.generation.start_before_text},
      eos(model.eos),
      candidates(std::min(Beam::candidates(rules), vocab)),
      context(model.context_tokens),
      longest(model.limits_length() ? model.max_positions : std::numeric_limits<int>::max()) {
  std::vector<int32_t> suppressed = suppressed_tokens(model, rules);
  most_banned_ = suppressed.size() + (rules.min_new_tokens > 0 ? 1 : 0);
  if (!suppressed.empty()) restrictions.push_back(std::make_unique<SuppressTokens>(std::move(suppressed)));
  if (rules.min_new_tokens > 0)
    restrictions.push_back(std::make_unique<MinNewTokens>(rules.min_new_tokens, eos));
}

std::vector<int32_t> BeamPlan::complete(std::vector<int32_t> ids) const {
  insert(ids, eos);
  const size_t enough = std::min(static_cast<size_t>(vocab), static_cast<size_t>(candidates) + most_banned_);
  for (int32_t id = 0; ids.size() < enough; ++id) insert(ids, id);
  return ids;
}

BeamSearch::BeamSearch(std::shared_ptr<const BeamPlan> plan, int source_tokens)
    : plan_(std::move(plan)),
      beam_(plan_->rules, {.eos = plan_->eos,
                           .longest = std::min(plan_->longest, longest_output(plan_->rules, source_tokens)),
                           .n_best = plan_->n_best}),
      window_(plan_->context, plan_->start) {}

BeamSearch::BeamSearch(std::shared_ptr<const BeamPlan> plan, std::vector<int32_t> prompt, int longest)
    : plan_(std::move(plan)),
      beam_(plan_->rules, {.eos = plan_->eos, .longest = longest, .n_best = plan_->n_best}),
      prompt_(std::move(prompt)),
      window_(plan_->context, plan_->start) {}

/// The prompt, then the tokens of a hypothesis.
std::vector<int32_t> BeamSearch::text_of(const LiveHypothesis& hypothesis) const {
  std::vector<int32_t> text = prompt_;
  text.insert(text.end(), hypothesis.ids.begin(), hypothesis.ids.end());
  return text;
}

void BeamSearch::ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) {
  const auto& live = beam_.live();
  edits_.resize(std::max(edits_.size(), live.size()));
  const ReadingWindow::Step step = window_.next(prompt_.size() + static_cast<size_t>(beam_.length()));
  begins_.clear();
  if (step.begins)
    for (const LiveHypothesis& hypothesis : live) begins_.push_back(window_.begin(text_of(hypothesis), step));
  for (size_t i = 0; i < live.size(); ++i) {
    const LiveHypothesis& hypothesis = live[i];
    const auto tokens = step.begins ? std::span<const int32_t>(begins_[i]) : std::span(hypothesis.ids).last(1);
    extensions.push_back({request, hypothesis.parent, tokens, step.begins});
    Query query;
    if (!beam_.must_end()) {
      edits_[i].clear();
      const std::vector<int32_t> whole = prompt_.empty() ? std::vector<int32_t>() : text_of(hypothesis);
      const RestrictedText text{prompt_.empty() ? hypothesis.ids : whole, prompt_.size()};
      for (const auto& restriction : plan_->restrictions) restriction->edit(text, edits_[i]);
      query = {.top_k = plan_->candidates,
               .banned = edits_[i].banned,
               .renormalize = plan_->rules.renormalize_logits};
    } else if (plan_->rules.at_longest == AtLongest::end_symbol) {
      query.listed = {&plan_->eos, 1};
    }  // with certain_end the end token has probability 1: there is nothing to query
    queries.push_back(query);
  }
}

void BeamSearch::advance(std::span<const Answer> answers) {
  ids_.clear(), log_probs_.clear();
  for (const Answer& answer : answers) {
    ids_.insert(ids_.end(), answer.ids.begin(), answer.ids.end());
    log_probs_.insert(log_probs_.end(), answer.log_probs.begin(), answer.log_probs.end());
  }
  if (!beam_.must_end()) return beam_.extend(ids_, log_probs_);
  log_probs_.resize(answers.size());  // 0 if nothing was queried: the end token is certain
  beam_.end(log_probs_);
}

}  // namespace sixfold
