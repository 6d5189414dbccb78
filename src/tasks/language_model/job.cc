#include "tasks/language_model/job.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/options.h"
#include "data/lines.h"
#include "tasks/language_model/settings.h"
#include "text/utf8.h"

namespace sixfold {
namespace {

/// The options of drawing that are set and that beam search does not use.
std::vector<std::string> drawing_options(const GenerateOptions& options) {
  DrawChoice draw = options.draw;
  draw.repetition_penalty.reset();
  return differing_keys(write_options(draw), write_options(DrawChoice()));
}

/// Throws an input error that names a sampling option that is set, since beam search does not use it. A seed
/// may accompany the model's own beam size, with which each call has the same texts anyway.
void require_no_sampling_options(const GenerateOptions& options) {
  std::vector<std::string> set = drawing_options(options);
  if (options.beam_size && options.seed != GenerateOptions().seed) set.emplace_back("seed");
  require(set.empty(), "beam search draws no tokens, so that {} has no effect; leave it out, or the beam size",
          set.empty() ? "" : set[0]);
}

/// Whether an option is set that beam search does not support.
bool needs_sampling(const GenerateOptions& options, int beam_size) {
  return options.likeliest || !options.stop.empty() || options.samples > beam_size ||
         !drawing_options(options).empty();
}

GenerationPlan plan_of(const ModelRuntime& model, const GenerateOptions& options) {
  check_ranges(options);
  const ModelConfig& config = model.config();
  const auto stored = settings_of<LanguageModelSettings>(config);
  const int beam_size = needs_sampling(options, stored.beam_size) ? 0 : stored.beam_size;
  GenerationPlan plan{.beam_size = options.beam_size.value_or(beam_size),
                      .min_tokens = options.min_tokens.value_or(config.generation.min_new_tokens),
                      .no_repeat_ngram = options.no_repeat_ngram.value_or(config.generation.no_repeat_ngram),
                      .draw = options.draw.over(stored_draw(config)),
                      .more_ends = {}};
  const auto add_end = [&](int32_t id) {
    if (id != config.eos && std::ranges::count(plan.more_ends, id) == 0) plan.more_ends.push_back(id);
  };
  for (const int id : stored.more_ends) {
    require(id < config.target_vocab, "{}: language_model.more_ends has the id {}, but the model has {} tokens",
            model.folder(), id, config.target_vocab);
    add_end(id);
  }
  if (options.chat) add_end(end_of_message(chat_format_of(model), model.target()));
  return plan;
}

}  // namespace

EncodedPrompt encode_prompt(const ModelRuntime& model, const Prompt& prompt, const GenerateOptions& options) {
  if (prompt.fault) return {.refusal = prompt.fault};
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
  const int max_prompt_tokens = config.context_tokens - (config.generation.start_before_text ? 1 : 0);
  if (config.context_tokens > 0 && std::ssize(encoded.ids) > max_prompt_tokens)
    encoded.refusal =
        fmt::format("the prompt has {} tokens, but the model reads at most {} at once; shorten it",
                    encoded.ids.size(), max_prompt_tokens);
  else if (!options.prompt_tokens && max_tokens_after(config, encoded.ids.size(), options) == 0)
    encoded.refusal = fmt::format(
        "the prompt has {} tokens, but by language_model.max_length of the model's config.json a prompt and "
        "the text after it have at most {}; shorten it, or set the number of tokens",
        encoded.ids.size(), settings_of<LanguageModelSettings>(config).max_length);
  return encoded;
}

const ChatFormat& chat_format_of(const ModelRuntime& model) {
  const ChatFormat* format = chat_format_named(settings_of<LanguageModelSettings>(model.config()).chat.format);
  require(
      format,
      "{}: it is not known how the model reads conversations (language_model.chat.format of its config.json "
      "is empty); give it texts to continue",
      model.folder());
  if (const auto fault = chat_fault(*format, model.target()))
    throw_input_error("{}: conversations of the format {} can't be encoded: {}", model.folder(), format->name,
                      *fault);
  return *format;
}

int max_tokens_after(const ModelConfig& config, size_t prompt_tokens, const GenerateOptions& options) {
  if (options.max_tokens) return *options.max_tokens;
  const int limit = options.default_limit;
  if (config.generation.max_new_tokens > 0) return std::min(config.generation.max_new_tokens, limit);
  const int max_length = settings_of<LanguageModelSettings>(config).max_length;
  if (max_length == 0) return std::min(usual_max_tokens, limit);
  const int64_t input_tokens =
      static_cast<int64_t>(prompt_tokens) + (config.generation.start_before_text ? 1 : 0);
  return static_cast<int>(std::clamp<int64_t>(max_length - input_tokens, 0, limit));
}

GenerationJob::GenerationJob(ModelRuntime& model, std::span<const Prompt> prompts,
                             const GenerateOptions& options, const TextReceiver& receive)
    : RequestGroup(model.engine(), options.caller),
      model_(model),
      prompts_(prompts),
      options_(options),
      receive_(receive),
      plan_(plan_of(model, options)),
      stops_(options.stop),
      requests_per_prompt_(plan_.beam_size == 0 ? static_cast<size_t>(std::max(options.samples, 1)) : 1),
      results_(prompts.size()) {
  const int limit = max_tokens(0);
  require(options.min_tokens.value_or(0) <= limit, "min_tokens is {}; it must be at most max_tokens, {}",
          options.min_tokens.value_or(0), limit);
  require(std::ranges::none_of(options.stop, &std::string::empty), "a stop string is empty");
  require(!options.prompt_tokens || options.likeliest,
          "the tokens of prompts are given with their likeliest alternatives; set their number");
  require(!options.max_tokens || *options.max_tokens >= (options.prompt_tokens ? 0 : 1),
          "max_tokens is {}; it must be at least 1", options.max_tokens.value_or(0));
  requests_.resize(prompts.size() * requests_per_prompt_);
  if (plan_.beam_size == 0)
    sampling_ = sampling_plan();
  else
    beam_ = beam_plan();
}

int GenerationJob::max_tokens(size_t prompt_tokens) const {
  return max_tokens_after(model_.config(), prompt_tokens, options_);
}

int GenerationJob::draft_tokens() const {
  const bool supported = DecodingState::keeps_all_tokens(model_.model());
  require(
      supported || options_.draft_tokens.value_or(0) == 0,
      "draft_tokens is {}, but {} discards older tokens, as it has a recurrence, a convolution or a window, "
      "and wrong guesses can't be taken back; leave it out",
      options_.draft_tokens.value_or(0), model_.folder());
  return supported ? options_.draft_tokens.value_or(RepetitionDraft::max_guesses) : 0;
}

std::shared_ptr<BeamPlan> GenerationJob::beam_plan() const {
  require(!options_.likeliest,
          "beam search chooses no tokens one by one, so that it gives none with its likeliest");
  require(options_.stop.empty(),
          "beam search does not support stop strings; leave out the beam size, or the stop strings");
  require_no_sampling_options(options_);
  require(options_.draft_tokens.value_or(0) == 0,
          "draft_tokens is {}, but beam search does not support guesses; leave it out, or set beam_size to 0",
          options_.draft_tokens.value_or(0));
  require(options_.samples <= plan_.beam_size, "samples is {}, but a beam of {} finds at most {} texts",
          options_.samples, plan_.beam_size, plan_.beam_size);
  GenerationConfig rules = this->rules();
  require(
      !rules.renormalize_logits || options_.draw.repetition_penalty.value_or(1) == 1,
      "repetition_penalty is {}, but the model searches with renormalize_logits, which does not go with it; "
      "leave it out, or set beam_size to 0",
      options_.draw.repetition_penalty.value_or(1));
  rules.beam_size = plan_.beam_size;
  rules.repetition_penalty = plan_.draw.repetition_penalty;
  rules.at_longest = AtLongest::cut;
  return std::make_shared<BeamPlan>(model_.config(), rules, options_.samples, plan_.more_ends);
}

std::shared_ptr<SamplingPlan> GenerationJob::sampling_plan() const {
  auto plan =
      std::make_shared<SamplingPlan>(model_.config(), rules(), plan_.draw, options_.seed, plan_.more_ends);
  plan->draft_tokens = draft_tokens();
  plan->likeliest = options_.likeliest.value_or(0);
  plan->shows_prompt = options_.prompt_tokens;
  return plan;
}

/// The generation settings that sampling and beam search have in common.
GenerationConfig GenerationJob::rules() const {
  GenerationConfig rules = model_.config().generation;
  rules.min_new_tokens = plan_.min_tokens;
  rules.no_repeat_ngram = plan_.no_repeat_ngram;
  return rules;
}

std::unique_ptr<Strategy> GenerationJob::strategy(const RequestState& request) const {
  const int max_new_tokens = max_tokens(request.ids->size());
  if (!sampling_) return std::make_unique<BeamSearch>(beam_, *request.ids, max_new_tokens);
  const uint64_t sample = uint64_t{options_.first_prompt + request.prompt} << 16 | request.sample;
  StopCriterion stops;
  if (!stops_.empty())
    stops = [text = std::make_shared<TextStream>(model_.target(), stops_, request.ids->size())](
                std::span<const int32_t> ids) {
      text->push(ids);
      return text->stopped();
    };
  return std::make_unique<Sampling>(sampling_, *request.ids, max_new_tokens, sample, request.chosen.get(),
                                    std::move(stops));
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
  EncodedPrompt encoded = encode_prompt(model_, prompts_[index], options_);
  result.error = std::move(encoded.refusal);
  if (result.error) return;
  const auto ids = std::make_shared<const std::vector<int32_t>>(std::move(encoded.ids));
  const std::vector<int32_t>& prompt = *ids;
  const ModelConfig& config = model_.config();
  const int max_new_tokens = max_tokens(prompt.size());
  result.prompt_tokens = prompt.size();
  result.unknown_tokens = static_cast<size_t>(model_.target().count_unknown(prompt));
  result.texts.resize(static_cast<size_t>(options_.samples));
  for (size_t sample = 0; sample < requests_per_prompt_ && !stopped(); ++sample) {
    auto request = std::make_unique<Request>();
    request->tokens = (std::ssize(prompt) + max_new_tokens) * std::max(plan_.beam_size, 1);
    if (config.context_tokens > 0)
      request->tokens =
          std::min<int64_t>(request->tokens, int64_t{config.context_tokens} * std::max(plan_.beam_size, 1));
    request->batch_tokens = 16 * model_.batch_tokens();
    request->read_tokens = std::ssize(prompt);
    const size_t number = index * requests_per_prompt_ + sample;
    requests_[number] = {
        .prompt = index,
        .sample = sample,
        .ids = ids,
        .stream = receive_ ? std::make_unique<TextStream>(model_.target(), stops_, prompt.size()) : nullptr,
        .chosen = options_.likeliest ? std::make_unique<ChosenTokens>(
                                           model_.target(), options_.prompt_tokens ? 0 : prompt.size())
                                     : nullptr};
    requests_[number].settled = prompt.size();
    request->strategy = strategy(requests_[number]);
    queue(std::move(request), number);
  }
}

std::vector<int32_t> GenerationJob::with_prompt(const RequestState& request, std::span<const int32_t> ids) {
  std::vector<int32_t> all = *request.ids;
  all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

void GenerationJob::settled(size_t index, std::span<const int32_t> text) {
  RequestState& request = requests_[index];
  if (!request.stream) return;
  for (size_t& length = request.settled; length < text.size();)  // a step may settle several
    if (const std::string piece = request.stream->push(text.first(++length)); !piece.empty())
      show(request, piece, false);
}

/// Passes a piece of a text to the receiver, with the tokens that begin in it. `all`: with all remaining
/// tokens.
void GenerationJob::show(RequestState& request, const std::string& piece, bool all) const {
  request.shown += count_characters(piece);
  std::span<const ChosenToken> chosen;
  if (request.chosen) chosen = request.chosen->take(all ? std::numeric_limits<int64_t>::max() : request.shown);
  if (piece.empty() && chosen.empty()) return;
  receive_({.prompt = request.prompt, .sample = request.sample, .text = piece, .chosen = chosen});
}

/// The text is that of the pieces that a stream shows.
GeneratedText GenerationJob::text_of(const RequestState& request, const Hypothesis& hypothesis) const {
  TextStream whole(model_.target(), stops_, request.ids->size());
  const std::vector<int32_t> ids = with_prompt(request, hypothesis.ids);
  std::string text;
  for (size_t length = request.ids->size() + 1; length <= ids.size() && !whole.stopped(); ++length)
    text += whole.push(std::span(ids).first(length));
  text += whole.finish(ids);
  GeneratedText result{.text = std::move(text),
                       .log_probability = hypothesis.log_probability,
                       .tokens = hypothesis.ids.size(),
                       .reason = hypothesis.reason,
                       .chosen = {}};
  if (request.chosen)
    result.chosen = request.chosen->all(whole.stopped() ? count_characters(result.text)
                                                        : std::numeric_limits<int64_t>::max());
  return result;
}

void GenerationJob::complete(size_t index, const DecodeWorkspace&, std::vector<Hypothesis> best_first) {
  RequestState& request = requests_[index];
  if (request.stream) {
    const std::vector<int32_t> ids = with_prompt(request, best_first[0].ids);
    settled(index, ids);
    const std::string rest = request.stream->finish(ids);
    show(request, rest, !request.stream->stopped());
  }
  std::vector<GeneratedText>& texts = results_[request.prompt].texts;
  if (beam_) texts.resize(best_first.size());
  for (size_t i = 0; i < best_first.size(); ++i) {
    GeneratedText& text = texts[beam_ ? i : request.sample] = text_of(request, best_first[i]);
    if (receive_ && i > 0 && !text.text.empty())  // the other texts of a beam come whole
      receive_({.prompt = request.prompt, .sample = i, .text = text.text, .chosen = {}});
  }
}

}  // namespace sixfold
