#include "tasks/language_model/job.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/options.h"
#include "data/lines.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

GenerationConfig beam_rules(const ModelConfig& model, const GenerateOptions& options) {
  GenerationConfig rules = model.generation;
  rules.beam_size = options.beam_size;
  rules.at_longest = AtLongest::cut;
  return rules;
}

/// Throws an input error that names a setting of drawing, which beam search does not obey.
void require_default_drawing(const DrawOptions& draw) {
  const std::vector<std::string> set = differing_keys(write_options(draw), write_options(DrawOptions()));
  require(set.empty(), "beam search draws no tokens, so that {} has no effect; leave it out, or the beam size",
          set.empty() ? "" : set[0]);
}

}  // namespace

EncodedPrompt encode_prompt(const ModelRuntime& model, const Prompt& prompt) {
  EncodedPrompt encoded;
  if (prompt.ids) {
    encoded.ids = *prompt.ids;
    for (const int32_t id : encoded.ids)
      if (id < 0 || id >= model.config().target_vocab)
        return {.refusal = fmt::format("the prompt has the token {}, but the vocabulary has the tokens 0 to {}",
                                       id, model.config().target_vocab - 1)};
  } else {
    if (const auto fault = fault_of_text(prompt.text))
      return {.refusal = fmt::format("the prompt is not text: {}", *fault)};
    encoded.ids = model.target().encode_text(prompt.text);
  }
  const ModelConfig& config = model.config();
  const int longest = config.context_tokens - (config.generation.start_before_text ? 1 : 0);
  if (config.context_tokens > 0 && std::ssize(encoded.ids) > longest)
    encoded.refusal =
        fmt::format("the prompt has {} tokens, but the model reads at most {} at once; shorten it",
                    encoded.ids.size(), longest);
  return encoded;
}

GenerationJob::GenerationJob(ModelRuntime& model, std::span<const Prompt> prompts,
                             const GenerateOptions& options, const TextReceiver& receive)
    : RequestGroup(model.engine(), options.caller),
      model_(model),
      prompts_(prompts),
      options_(options),
      receive_(receive),
      stops_(options.stop),
      per_prompt_(options.beam_size == 0 ? static_cast<size_t>(std::max(options.samples, 1)) : 1),
      results_(prompts.size()) {
  check_ranges(options);
  require(options.no_repeat_ngram == 0 || options.no_repeat_ngram >= 2,
          "no_repeat_ngram is {}; it must be at least 2, or 0 for no restriction", options.no_repeat_ngram);
  require(options.min_tokens == 0 || options.min_tokens <= options.max_tokens,
          "min_tokens is {}; it must be at most max_tokens, {}", options.min_tokens, options.max_tokens);
  require(std::ranges::none_of(options.stop, &std::string::empty), "a stop string is empty");
  require(!options.prompt_tokens || options.likeliest,
          "the tokens of prompts are given with their likeliest alternatives; set their number");
  require(options.max_tokens >= (options.prompt_tokens ? 0 : 1), "max_tokens is {}; it must be at least 1",
          options.max_tokens);
  wanted_.resize(prompts.size() * per_prompt_);
  if (options.beam_size == 0) {
    sampling_ = sampling_plan();
    return;
  }
  require(!options.likeliest,
          "beam search chooses no tokens one by one, so that it gives none with its likeliest");
  require(options.stop.empty(),
          "beam search knows no stop strings; leave out the beam size, or the stop strings");
  require_default_drawing(options.draw);
  require(options.samples <= options.beam_size, "samples is {}, but a beam of {} finds at most {} texts",
          options.samples, options.beam_size, options.beam_size);
  auto plan = std::make_shared<BeamPlan>(model.config(), beam_rules(model.config(), options), options.samples);
  add_restrictions(*plan);
  beam_ = std::move(plan);
}

/// Adds what the options forbid to a plan of sampling or of beam search.
void GenerationJob::add_restrictions(auto& plan) const {
  if (options_.no_repeat_ngram > 0)
    plan.restrictions.push_back(std::make_unique<NoRepeatedNgram>(options_.no_repeat_ngram));
  if (options_.min_tokens > 0)
    plan.restrictions.push_back(std::make_unique<MinNewTokens>(options_.min_tokens, plan.eos));
}

std::shared_ptr<SamplingPlan> GenerationJob::sampling_plan() const {
  auto plan =
      std::make_shared<SamplingPlan>(model_.config(), options_.draw, options_.max_tokens, options_.seed);
  plan->likeliest = options_.likeliest.value_or(0);
  plan->shows_prompt = options_.prompt_tokens;
  add_restrictions(*plan);
  return plan;
}

std::unique_ptr<Strategy> GenerationJob::strategy(const Wanted& wanted) const {
  if (!sampling_) return std::make_unique<BeamSearch>(beam_, *wanted.ids, options_.max_tokens);
  const uint64_t sample = uint64_t{options_.first_prompt + wanted.prompt} << 16 | wanted.sample;
  StopCriterion stops;
  if (!stops_.empty())
    stops = [text = std::make_shared<TextStream>(model_.target(), stops_, wanted.ids->size())](
                std::span<const int32_t> ids) {
      text->push(ids);
      return text->stopped();
    };
  return std::make_unique<Sampling>(sampling_, *wanted.ids, sample, wanted.chosen.get(), std::move(stops));
}

std::vector<GeneratedTexts> GenerationJob::run() {
  RequestGroup::run(options_.cancel, [this] {
    for (size_t prompt = 0; prompt < prompts_.size() && !stopped(); ++prompt) queue_prompt(prompt);
  });
  return std::move(results_);
}

void GenerationJob::queue_prompt(size_t index) {
  GeneratedTexts& result = results_[index];
  result.index = index;
  EncodedPrompt encoded = encode_prompt(model_, prompts_[index]);
  result.error = std::move(encoded.refusal);
  if (result.error) return;
  const auto ids = std::make_shared<const std::vector<int32_t>>(std::move(encoded.ids));
  const std::vector<int32_t>& prompt = *ids;
  const ModelConfig& config = model_.config();
  result.prompt_tokens = prompt.size();
  result.unknown_tokens = static_cast<size_t>(std::ranges::count(prompt, config.unk));
  result.texts.resize(static_cast<size_t>(options_.samples));
  for (size_t sample = 0; sample < per_prompt_ && !stopped(); ++sample) {
    auto request = std::make_unique<Request>();
    request->tokens = (std::ssize(prompt) + options_.max_tokens) * std::max(options_.beam_size, 1);
    if (config.context_tokens > 0)
      request->tokens =
          std::min<int64_t>(request->tokens, int64_t{config.context_tokens} * std::max(options_.beam_size, 1));
    request->batch_tokens = 16 * model_.batch_tokens();
    request->read_tokens = std::ssize(prompt);
    const size_t number = index * per_prompt_ + sample;
    wanted_[number] = {
        .prompt = index,
        .sample = sample,
        .ids = ids,
        .stream = receive_ ? std::make_unique<TextStream>(model_.target(), stops_, prompt.size()) : nullptr,
        .chosen = options_.likeliest ? std::make_unique<ChosenTokens>(
                                           model_.target(), options_.prompt_tokens ? 0 : prompt.size())
                                     : nullptr};
    request->strategy = strategy(wanted_[number]);
    queue(std::move(request), number);
  }
}

std::vector<int32_t> GenerationJob::with_prompt(const Wanted& wanted, std::span<const int32_t> ids) {
  std::vector<int32_t> all = *wanted.ids;
  all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

void GenerationJob::settled(size_t index, std::span<const int32_t> text) {
  Wanted& wanted = wanted_[index];
  if (!wanted.stream) return;
  if (const std::string piece = wanted.stream->push(text); !piece.empty()) show(wanted, piece, false);
}

/// Hands a piece of a text to the caller, with the tokens that begin in it. `all`: with all that are left.
void GenerationJob::show(Wanted& wanted, const std::string& piece, bool all) const {
  wanted.shown += count_characters(piece);
  std::span<const ChosenToken> chosen;
  if (wanted.chosen) chosen = wanted.chosen->take(all ? std::numeric_limits<int64_t>::max() : wanted.shown);
  if (piece.empty() && chosen.empty()) return;
  receive_({.prompt = wanted.prompt, .sample = wanted.sample, .text = piece, .chosen = chosen});
}

GeneratedText GenerationJob::text_of(const Wanted& wanted, const Hypothesis& hypothesis) const {
  TextStream whole(model_.target(), stops_, wanted.ids->size());
  GeneratedText result{.text = whole.finish(with_prompt(wanted, hypothesis.ids)),
                       .log_probability = hypothesis.log_probability,
                       .tokens = hypothesis.ids.size(),
                       .reason = hypothesis.reason,
                       .chosen = {}};
  if (wanted.chosen)
    result.chosen = wanted.chosen->all(whole.stopped() ? count_characters(result.text)
                                                       : std::numeric_limits<int64_t>::max());
  return result;
}

void GenerationJob::complete(size_t index, const DecodeWorkspace&, std::vector<Hypothesis> best_first) {
  Wanted& wanted = wanted_[index];
  if (wanted.stream) {
    const std::string rest = wanted.stream->finish(with_prompt(wanted, best_first[0].ids));
    show(wanted, rest, !wanted.stream->stopped());
  }
  std::vector<GeneratedText>& texts = results_[wanted.prompt].texts;
  if (beam_) texts.resize(best_first.size());
  for (size_t i = 0; i < best_first.size(); ++i)
    texts[beam_ ? i : wanted.sample] = text_of(wanted, best_first[i]);
}

}  // namespace sixfold
