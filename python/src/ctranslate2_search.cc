#include "ctranslate2_search.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace sixfold::python {
namespace {

/// The log-probabilities of the candidates of a hypothesis under CTranslate2's repetition penalty, which
/// applies to logits, before the softmax. `answer` has the most probable tokens, then the penalized ones.
class Penalized {
 public:
  Penalized(const Answer& answer, const LogitEdits& edits) : answer_(answer), penalized_(edits.penalized) {
    if (penalized_.empty()) return;
    const size_t listed = answer.ids.size() - penalized_.size();
    double repeated = 0, others = 0, changed = 0;  // probabilities
    for (size_t i = 0; i < listed; ++i)
      if (!is_penalized(answer.ids[i])) others += std::exp(double{answer.log_probs[i]});
    for (size_t i = 0; i < penalized_.size(); ++i) {
      const double log_prob = double{answer.log_probs[listed + i]};
      if (std::isinf(log_prob)) continue;  // banned
      const double logit = double{answer.logits[i]}, penalty = double{edits.penalty};
      change_.emplace_back(answer.ids[listed + i], (logit < 0 ? logit * penalty : logit / penalty) - logit);
      repeated += std::exp(log_prob);
      changed += std::exp(log_prob + change_.back().second);
    }
    log_normalizer_ = std::log(changed + std::max(1 - repeated, others));  // 1 - repeated is imprecise near 0
  }
  /// The log-probability of token number `i` of the answer.
  double operator()(size_t i) const {
    const auto known = std::ranges::find(change_, answer_.ids[i], &std::pair<int32_t, double>::first);
    return double{answer_.log_probs[i]} + (known == change_.end() ? 0 : known->second) - log_normalizer_;
  }

 private:
  bool is_penalized(int32_t id) const { return std::ranges::binary_search(penalized_, id); }

  const Answer& answer_;
  const std::vector<int32_t>& penalized_;
  std::vector<std::pair<int32_t, double>> change_;  // of logits
  double log_normalizer_ = 0;                       // of the new probabilities before they are normalized
};

const Ct2Options& checked_ct2_options(const Ct2Options& options) {
  check_ranges(options);
  return options;
}

bool bans_all(std::vector<int32_t> banned, int vocab) {
  if (std::ssize(banned) < vocab) return false;
  std::ranges::sort(banned);
  return std::unique(banned.begin(), banned.end()) - banned.begin() == vocab;
}

}  // namespace

// The documentation of the options is in Python.
void visit(OptionVisitor& v, Ct2Options& o) {
  v.field("beam_size", o.beam_size, "", between(1, 1000));
  v.field("most_finished", o.max_finished, "", at_least(1));
  v.field("num_hypotheses", o.num_hypotheses, "", at_least(1));
  v.field("length_penalty", o.length_penalty, "");
  v.field("repetition_penalty", o.repetition_penalty, "", above(0));
  v.field("no_repeat_ngram_size", o.no_repeat_ngram_size, "", at_least(0));
  v.field("suppress_sequences", o.suppress_sequences, "", at_least(0));
  v.field("max_decoding_length", o.max_decoding_length, "", at_least(1));
  v.field("min_decoding_length", o.min_decoding_length, "", at_least(0));
}

Ct2Plan::Ct2Plan(const ModelConfig& model, const Ct2Options& search_options)
    : options(checked_ct2_options(search_options)),
      vocab(model.target_vocab),
      eos(model.eos),
      context(model.context_tokens),
      start{model.decoder_start_token} {
  require_encoder_and_decoder(model, "search");
  if (model.limits_length())
    options.max_decoding_length = std::min(options.max_decoding_length, model.max_positions);
  if (!options.suppress_sequences.empty())
    restrictions.push_back(std::make_unique<BanPhrases>(options.suppress_sequences));
  if (options.min_decoding_length > 0)
    restrictions.push_back(std::make_unique<MinNewTokens>(options.min_decoding_length, std::vector{eos}));
  if (options.no_repeat_ngram_size > 0)
    restrictions.push_back(std::make_unique<NoRepeatedNgram>(options.no_repeat_ngram_size));
  if (options.repetition_penalty != 1)
    restrictions.push_back(std::make_unique<RepetitionPenalty>(options.repetition_penalty));
}

Ct2Search::Ct2Search(std::shared_ptr<const Ct2Plan> plan, std::vector<int32_t> context,
                     std::vector<int32_t> prefix)
    : plan_(std::move(plan)),
      context_(std::move(context)),
      prefix_(prefix.size()),
      window_(plan_->context, plan_->start) {
  require(std::ssize(prefix) < plan_->options.max_decoding_length, "the prefix has {} tokens, of at most {}",
          prefix.size(), plan_->options.max_decoding_length - 1);
  live_.push_back({.ids = std::move(prefix)});
}

std::vector<int32_t> Ct2Search::text_of(const Live& hypothesis) const {
  std::vector<int32_t> text = context_;
  text.insert(text.end(), hypothesis.ids.begin(), hypothesis.ids.end());
  return text;
}

void Ct2Search::ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) {
  const ReadingWindow::Step step = window_.next(context_.size() + live_.front().ids.size());
  window_tokens_.clear();
  if (step.begins)
    for (const Live& hypothesis : live_) window_tokens_.push_back(window_.begin(text_of(hypothesis), step));
  edits_.resize(live_.size());
  for (size_t i = 0; i < live_.size(); ++i) {
    const Live& hypothesis = live_[i];
    const auto tokens =
        step.begins ? std::span<const int32_t>(window_tokens_[i]) : std::span(hypothesis.ids).last(1);
    extensions.push_back({request, hypothesis.parent, tokens, step.begins});
    LogitEdits& edits = edits_[i];
    edits.clear();
    for (const auto& restriction : plan_->restrictions) restriction->edit({.ids = hypothesis.ids}, edits);
    const int top_k = 2 * plan_->options.beam_size + static_cast<int>(edits.penalized.size());
    queries.push_back({.top_k = std::min(top_k, plan_->vocab),
                       .banned = edits.banned,
                       .renormalize = true,
                       .listed = edits.penalized,
                       .logits = !edits.penalized.empty()});
  }
}

/// Fills `ranked_` with the best candidates, at most twice as many as the beam size.
void Ct2Search::rank(std::span<const Answer> answers) {
  ranked_.clear();
  for (size_t i = 0; i < answers.size(); ++i) {
    const Answer& answer = answers[i];
    if (bans_all(edits_[i].banned, plan_->vocab)) continue;  // there are no probabilities
    const Penalized log_prob(answer, edits_[i]);
    const size_t likeliest = answer.ids.size() - edits_[i].penalized.size();
    for (size_t j = 0; j < answer.ids.size(); ++j) {
      if (answer.ids[j] < 0 ||
          (j < likeliest && std::ranges::binary_search(edits_[i].penalized, answer.ids[j])))
        continue;  // no token, or one that is listed too
      broken_ = broken_ || std::isnan(answer.log_probs[j]);
      if (std::isfinite(answer.log_probs[j]))  // others are banned
        ranked_.push_back({live_[i].sum + log_prob(j), i, answer.ids[j]});
    }
  }
  const size_t kept = std::min(ranked_.size(), 2 * static_cast<size_t>(plan_->options.beam_size));
  std::partial_sort(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(kept), ranked_.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return std::tuple(-a.sum, a.parent, a.id) < std::tuple(-b.sum, b.parent, b.id);
                    });
  ranked_.resize(kept);
}

/// Finishes a hypothesis. `ids`: its tokens without the end token.
void Ct2Search::finish(std::vector<int32_t> ids, double sum, FinishReason reason) {
  const size_t tokens = ids.size() + (reason == FinishReason::end_token ? 1 : 0);
  const auto length = static_cast<double>(std::max<size_t>(tokens, 1));
  const double score = sum / std::pow(length, plan_->options.length_penalty);
  finished_.push_back({.ids = std::move(ids), .log_probability = sum, .score = score, .reason = reason});
}

void Ct2Search::advance(std::span<const Answer> answers) {
  rank(answers);
  step();
}

void Ct2Search::step() {
  const Ct2Options& options = plan_->options;
  const size_t length = live_.front().ids.size(), slots = static_cast<size_t>(options.beam_size);
  const bool last = std::ssize(live_.front().ids) + 1 == options.max_decoding_length;
  const auto is_end = [&](size_t rank) { return ranked_[rank].id == plan_->eos; };
  // Right after a prefix, an end token that is not the likeliest is dropped, and its slot stays empty.
  const auto is_lost = [&](size_t rank) {
    return prefix_ > 0 && length == prefix_ && rank > 0 && is_end(rank);
  };
  std::vector<Live> next;
  size_t other = slots;
  const auto child_of = [&](const Candidate& one) {
    Live child{.ids = live_[one.parent].ids, .parent = static_cast<int>(one.parent), .sum = one.sum};
    child.ids.push_back(one.id);
    return child;
  };
  const auto go_on = [&](size_t rank) {
    if (!is_lost(rank)) next.push_back(child_of(ranked_[rank]));
  };
  for (size_t rank = 0; rank < std::min(slots, ranked_.size()); ++rank) {
    if (is_lost(rank)) continue;
    if (!last && !is_end(rank)) {
      go_on(rank);
      continue;
    }
    const Candidate& one = ranked_[rank];
    if (is_end(rank))
      finish(live_[one.parent].ids, one.sum, FinishReason::end_token);
    else
      finish(child_of(one).ids, one.sum, FinishReason::cut);
    best_finished_ = best_finished_ || rank == 0;
    while (other < ranked_.size() && is_end(other) && !is_lost(other)) ++other;
    if (other < ranked_.size()) go_on(other++);
  }
  const size_t enough =
      static_cast<size_t>(options.length_penalty == 0 ? options.num_hypotheses : options.max_finished);
  const bool ended = finished_.size() >= enough && (options.length_penalty != 0 || best_finished_);
  if (ranked_.empty() && !broken_)  // no token may follow
    for (const Live& hypothesis : live_) finish(hypothesis.ids, hypothesis.sum, FinishReason::cut);
  if (last || ended) next.clear();
  live_ = std::move(next);
}

std::vector<Hypothesis> Ct2Search::take_best() {
  std::ranges::stable_sort(finished_, std::ranges::greater(), &Hypothesis::score);
  finished_.resize(std::min(finished_.size(), static_cast<size_t>(plan_->options.num_hypotheses)));
  return std::move(finished_);
}

}  // namespace sixfold::python
