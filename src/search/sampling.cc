#include "search/sampling.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/options.h"
#include "base/random.h"
#include "search/beam.h"

namespace sixfold {
namespace {

/// Uniform in [0, 1), with a resolution of 53 bits.
double uniform_number(uint64_t seed, uint64_t sample, uint64_t place) {
  const auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
  const auto high = [](uint64_t value) { return static_cast<uint32_t>(value >> 32); };
  const Philox::Counter bits =
      Philox::bits({low(place), high(place), low(sample), high(sample)}, low(seed), high(seed));
  return static_cast<double>((uint64_t{bits[0]} << 32 | bits[1]) >> 11) * 0x1p-53;
}

/// Inserts a token into an ascending list, which has each once.
void insert_once(std::vector<int32_t>& ids, int32_t id) {
  const auto place = std::lower_bound(ids.begin(), ids.end(), id);
  if (place == ids.end() || *place != id) ids.insert(place, id);
}

const DrawOptions& checked_draw_options(const DrawOptions& options) {
  check_ranges(options);
  return options;
}

}  // namespace

SamplingPlan::SamplingPlan(const ModelConfig& model, const GenerationConfig& rules, const DrawOptions& options,
                           uint64_t random_seed, const std::vector<int32_t>& more_ends)
    : draw(checked_draw_options(options)),
      seed(random_seed),
      prompt_is_output(!model.continues_text()),
      certain(prompt_is_output && rules.forced_first_token >= 0 ? 1 : 0),
      start{model.decoder_start_token, model.generation.start_before_text},
      ends(more_ends),
      context(model.context_tokens),
      restrictions(restrictions_of(model, rules, more_ends)) {
  ends.push_back(model.eos);
}

Sampling::Sampling(std::shared_ptr<const SamplingPlan> plan, std::vector<int32_t> prompt, int max_tokens,
                   uint64_t sample, DrawObserver* observer, StopCriterion stops)
    : plan_(std::move(plan)),
      prompt_(prompt.size()),
      text_(std::move(prompt)),
      max_tokens_(max_tokens),
      sample_(sample),
      observer_(observer),
      stops_(std::move(stops)),
      window_(plan_->context, plan_->start),
      draft_(plan_->draft_tokens) {
  require(max_tokens >= 0, "max_tokens is {}; it must be at least 0", max_tokens);
  if (plan_->draw.repetition_penalty == 1) return;
  if (!plan_->prompt_is_output && plan_->start.before_text && plan_->start.token >= 0)
    insert_once(used_, plan_->start.token);
  for (const int32_t id : text_) insert_once(used_, id);
}

/// Adds guesses to the text. A step that begins a window has none: it reads many tokens as it is.
size_t Sampling::add_guesses(bool begins) {
  const size_t left = static_cast<size_t>(max_tokens_) - generated().size();
  if (begins || left <= 1) return 0;
  // Measured with SmolLM2 (135 million weights, int8): up to some 128 rows, a step takes little longer with
  // more.
  constexpr size_t max_rows = 128;
  const size_t share = max_rows / std::max<size_t>(requests_, 1);
  if (share <= 1) return 0;
  const auto guesses = draft_.guess(text_, std::min({left - 1, window_.room(), share - 1}));
  text_.insert(text_.end(), guesses.begin(), guesses.end());
  return guesses.size();
}

void Sampling::ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) {
  const ReadingWindow::Step step = window_.next(text_.size());
  if (step.begins) window_tokens_ = window_.begin(text_, step);
  const size_t length = text_.size();
  guesses_ = add_guesses(step.begins);
  const auto tokens =
      step.begins ? std::span<const int32_t>(window_tokens_) : std::span(text_).last(1 + guesses_);
  extensions.push_back({.request = request,
                        .parent = 0,
                        .tokens = tokens,
                        .new_sequence = step.begins,
                        .discarded = step.begins ? 0 : wrong_});
  questions_.resize(1 + guesses_);
  for (size_t i = 0; i <= guesses_; ++i) {
    questions_[i].used = i == 0 ? used_ : questions_[i - 1].used;
    if (i > 0 && plan_->draw.repetition_penalty != 1) insert_once(questions_[i].used, text_[length + i - 1]);
    add_query(length + i, guesses_ - i, questions_[i], queries);
  }
  if (plan_->prompt_is_output && length == prompt_) queries.back().given = prompt_;
  if (!observer_ || !plan_->shows_prompt || length != prompt_) return;
  queries.back().given = tokens.size() - 1;
  queries.back().given_likeliest = plan_->likeliest;
}

/// Asks for the token after the first `length` tokens of the text.
void Sampling::add_query(size_t length, size_t tokens_behind, Question& question,
                         std::vector<Query>& queries) const {
  question.edits.clear();
  for (const auto& restriction : plan_->restrictions)
    restriction->edit({.ids = std::span(text_).first(length), .prompt = plan_->prompt_is_output ? 0 : prompt_},
                      question.edits);
  question.draw = {.options = &plan_->draw,
                   .before = question.used,
                   .uniform = uniform_number(plan_->seed, sample_, length - prompt_),
                   .likeliest = observer_ ? plan_->likeliest : 0};
  queries.push_back({.tokens_behind = tokens_behind, .banned = question.edits.banned, .draw = &question.draw});
}

void Sampling::advance(std::span<const Answer> answers) {
  const auto first_guess = text_.end() - static_cast<std::ptrdiff_t>(guesses_);
  const std::vector<int32_t> guesses(first_guess, text_.end());
  text_.erase(first_guess, text_.end());
  if (observer_ && plan_->shows_prompt && at_prompt()) observer_->see_prompt(text_, answers[0]);
  if (plan_->prompt_is_output && at_prompt())
    for (size_t i = plan_->certain; i < prompt_; ++i)
      result_.log_probability += static_cast<double>(answers[0].given[i]);
  size_t right = 0;
  take(answers[0]);
  while (!done_ && right < guesses.size() && text_.back() == guesses[right]) take(answers[++right]);
  window_.read_ahead(right);
  if (!guesses.empty()) draft_.learn(right);
  wrong_ = static_cast<int>(guesses.size() - right);
}

/// Continues the text with the token that was drawn.
void Sampling::take(const Answer& answer) {
  if (max_tokens_ == 0) return finish(FinishReason::cut);
  const int32_t id = answer.ids[0];
  if (id == all_tokens_banned) return finish(FinishReason::cut);  // as in beam search
  if (id < 0) {
    failed_ = done_ = true;
    return;
  }
  result_.log_probability += static_cast<double>(answer.log_probs[0]);
  if (std::ranges::count(plan_->ends, id) > 0) return finish(FinishReason::end_token);
  if (observer_) observer_->see(text_, answer);
  text_.push_back(id);
  if (plan_->draw.repetition_penalty != 1) insert_once(used_, id);
  if (stops_ && stops_(text_)) return finish(FinishReason::stop_string);
  if (std::ssize(generated()) >= max_tokens_) finish(FinishReason::cut);
}

void Sampling::finish(FinishReason reason) {
  result_.reason = reason;
  done_ = true;
}

std::vector<Hypothesis> Sampling::take_best() {
  if (failed_) return {};
  const std::span<const int32_t> output = plan_->prompt_is_output ? text_ : generated();
  result_.ids.assign(output.begin(), output.end());
  result_.score = result_.log_probability;
  return {std::move(result_)};
}

Samples::Samples(std::shared_ptr<const SamplingPlan> plan, const GenerationConfig& rules,
                 const std::vector<int32_t>& prefix, int longest, std::span<const uint64_t> samples)
    : rules_(rules), places_(samples.size(), 0) {
  for (const uint64_t sample : samples)
    outputs_.emplace_back(plan, prefix, longest - static_cast<int>(prefix.size()), sample);
}

void Samples::ask(int request, std::vector<Extension>& extensions, std::vector<Query>& queries) {
  int place = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    if (outputs_[i].done()) continue;
    outputs_[i].ask(request, extensions, queries);
    extensions.back().parent = std::exchange(places_[i], place++);
  }
}

void Samples::advance(std::span<const Answer> answers) {
  for (Sampling& output : outputs_) {
    if (output.done()) continue;
    output.advance(answers.first(1));
    answers = answers.subspan(1);
  }
}

bool Samples::done() const { return std::ranges::all_of(outputs_, &Sampling::done); }

/// Returns no output if the probabilities of any are NaN.
std::vector<Hypothesis> Samples::take_best() {
  std::vector<Hypothesis> all;
  for (Sampling& output : outputs_) {
    std::vector<Hypothesis> one = output.take_best();
    if (one.empty()) return {};
    const int end = one[0].reason == FinishReason::end_token ? 1 : 0,
              length = static_cast<int>(one[0].ids.size()) + end;
    one[0].score = score_of(rules_, one[0].log_probability, std::max(length, 1));
    all.push_back(std::move(one[0]));
  }
  std::ranges::stable_sort(all, std::greater(), &Hypothesis::score);
  return all;
}

}  // namespace sixfold
