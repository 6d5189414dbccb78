#include "serve/api/openai.h"

#include <algorithm>
#include <ctime>

#include "serve/http/json_text.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t max_log_probs = 5;  // OpenAI's limit

/// Refuses a completion whose texts may have more tokens together than a request is allowed. The alternatives
/// of each token count too, and so do prompts whose tokens are shown.
void require_few_tokens(const ServiceOptions& limits, const Completion& completion) {
  const GenerateOptions& options = completion.options;
  const int64_t limit = std::max<int64_t>(limits.max_tokens_of_request, limits.max_new_tokens);
  const int64_t texts = std::ssize(completion.prompts) * options.samples;
  int64_t tokens = 0;
  for (const Prompt& prompt : completion.prompts) {
    const size_t known = prompt.ids ? prompt.ids->size() : 0;  // of a text, the tokens are not known yet
    tokens += int64_t{options.samples} * completion.model->predictor().max_tokens(known, options);
    if (options.prompt_tokens)
      tokens += options.samples * (prompt.ids ? std::ssize(*prompt.ids) : std::ssize(prompt.text));
  }
  if (tokens * (1 + options.likeliest.value_or(0)) > limit)
    throw HttpError(
        400, fmt::format("\"{}\", \"n\", \"max_tokens\" and \"{}\" ask for {} texts with {} "
                         "tokens in all, and {} more beside each; all together may be {}.",
                         options.chat ? "messages" : "prompt", options.chat ? "top_logprobs" : "logprobs",
                         texts, tokens, options.likeliest.value_or(0), limit));
}

/// The prompts, given as texts or as tokens; a request without any continues the empty text.
std::vector<Prompt> prompts_of(const Fields& fields, const ServiceOptions& limits) {
  std::vector<Prompt> prompts;
  if (auto lists = fields.token_lists("prompt", limits.max_texts, limits.max_text_bytes)) {
    for (std::vector<int32_t>& ids : *lists) prompts.push_back({.text = {}, .ids = std::move(ids)});
    return prompts;
  }
  for (std::string& text : fields.texts("prompt", limits.max_texts)) prompts.push_back({std::move(text)});
  if (!fields.has("prompt")) prompts.emplace_back();
  if (prompts.empty()) throw HttpError(400, "\"prompt\" is an empty list; it must have a text.");
  return prompts;
}

/// Reads the options of /v1/completions.
void read_completion_options(Service& service, const Fields& fields, Completion& completion) {
  GenerateOptions& options = completion.options;
  const ServiceOptions& limits = service.options();
  options.default_limit = std::min(16, limits.max_new_tokens);  // OpenAI's default
  const bool shows_prompt =
      completion.echo && fields.has("logprobs");  // an answer may consist of the prompt alone
  fields.read(OptionVisitor::AnyOptions(options),
              {{.option = "max_tokens", .range = between(shows_prompt ? 0 : 1, limits.max_new_tokens)},
               {.option = "likeliest", .field = "logprobs", .range = between(0, max_log_probs)}});
  options.prompt_tokens = shows_prompt;
  read_sampling_options(service, fields, options);
  if (fields.integer("best_of", 1, limits.max_samples).value_or(options.samples) != options.samples)
    throw HttpError(400, "\"best_of\" is not supported; it may be \"n\", which gives all texts.");
  read_stream_options(fields, completion, "/v1/completions");
}

HttpAnswer completions(Service& service, const HttpRequest& request) {
  const Fields fields(request);
  if (fields.has("suffix")) throw HttpError(400, "\"suffix\" is not supported.");
  refuse_unsupported_by_openai(fields);
  Completion completion;
  completion.id = fmt::format("cmpl-{}", service.next_request_number());
  completion.model = language_model_of(service, fields);
  completion.prompts = prompts_of(fields, service.options());
  size_t bytes = 0;
  for (const Prompt& prompt : completion.prompts)
    bytes += prompt.ids ? prompt.ids->size() * sizeof(int32_t) : prompt.text.size();
  completion.echo = fields.boolean("echo").value_or(false);
  read_completion_options(service, fields, completion);
  admit(service, request, bytes, completion);
  for (Prompt& prompt : completion.prompts)
    if (prompt.ids) prompt.text = completion.model->predictor().text_of(*prompt.ids);
  return answer(completion);
}

}  // namespace

std::shared_ptr<const ServedLanguageModel> language_model_of(Service& service, const Fields& fields) {
  const std::string name = fields.required_text("model");
  const ModelPointer model = service.models().find(name);
  if (!model) throw HttpError(404, fmt::format("There is no model named {}.", name));
  auto found = as<ServedLanguageModel>(model);
  if (!found)
    throw HttpError(400,
                    fmt::format("The model {} does not continue texts; its task is {}.", name, model->task));
  return found;
}

void refuse_unsupported_by_openai(const Fields& fields) {
  if (const auto bias = fields.object("logit_bias"); bias && bias->unread())
    throw HttpError(400, "\"logit_bias\" is not supported.");
  for (const char* name : {"presence_penalty", "frequency_penalty"})
    if (fields.number(name, -2, 2).value_or(0) != 0)
      throw HttpError(400, fmt::format("\"{}\" is not supported; \"repetition_penalty\" is.", name));
}

void read_sampling_options(Service& service, const Fields& fields, GenerateOptions& options) {
  // If they give no seed, clients expect a different text each time.
  options.seed = service.next_seed();
  const ServiceOptions& limits = service.options();
  fields.read(OptionVisitor::AnyOptions(options),
              {{.option = "min_tokens"},
               {.option = "temperature", .range = between(0, 2)},
               {.option = "top_k"},
               {.option = "top_p"},
               {.option = "min_p"},
               {.option = "repetition_penalty"},
               {.option = "no_repeat_ngram"},
               {.option = "samples", .field = "n", .range = between(1, limits.max_samples)},
               {.option = "seed", .range = between(0, 0x1p53)}});
  options.stop = fields.texts("stop", 16);
}

void read_stream_options(const Fields& fields, Completion& completion, std::string_view path) {
  completion.stream = fields.boolean("stream").value_or(false);
  if (const auto stream_options = fields.object("stream_options")) {
    if (!completion.stream) throw HttpError(400, "\"stream_options\" needs \"stream\".");
    completion.usage = stream_options->boolean("include_usage").value_or(false);
    stream_options->ignore({"include_obfuscation"});
    if (const auto unknown = stream_options->unread())
      throw HttpError(400, fmt::format("\"{}\" is not an option of streams.", *unknown));
  }
  fields.ignore({"user", "api_key", "auth_key"});
  if (const auto unknown = fields.unread())
    throw HttpError(400, fmt::format("\"{}\" is not a field of {}.", *unknown, path));
}

void admit(Service& service, const HttpRequest& request, size_t bytes, Completion& completion) {
  if (bytes > service.options().max_text_bytes)
    throw HttpError(413, fmt::format("The prompts have {} bytes; at most {} are allowed.", bytes,
                                     service.options().max_text_bytes));
  require_few_tokens(service.options(), completion);
  completion.options.caller = service.scheduling_key(request);
  completion.options.cancel = request.cancel;
  completion.reservation = service.reserve_text_bytes(bytes);
  for (size_t i = 0; i < completion.prompts.size(); ++i)
    if (const auto refusal = completion.model->predictor().refusal(completion.prompts[i], completion.options))
      throw HttpError(400, fmt::format("Prompt {}: {}.", i + 1, *refusal));
}

HttpAnswer answer(const Completion& completion) {
  if (completion.stream) return stream_completion(completion);
  Json choices = Json::array();
  const std::vector<GeneratedTexts> all =
      completion.model->predictor().generate(completion.prompts, completion.options);
  for (const GeneratedTexts& texts : all)
    for (const GeneratedText& text : texts.texts) {
      const std::string before = completion.echo ? completion.prompts[texts.index].text : "";
      const std::string whole = before + text.text;
      Json choice = choice_json(completion, choices.size(), whole, log_probs_of(text.chosen, completion),
                                openai_reason(text.reason));
      if (completion.options.chat) {
        choice.erase("delta");
        choice["message"] = {{"role", "assistant"}, {"content", whole}, {"refusal", nullptr}};
      }
      choices.push_back(std::move(choice));
    }
  Json body = completion_json(completion, std::move(choices));
  body["usage"] = usage_of(all);
  return {.body = json_text(body)};
}

Json log_probs_of(std::span<const ChosenToken> chosen, const Completion& completion) {
  if (!completion.options.likeliest) return nullptr;
  if (completion.options.chat) return chat_log_probs_of(chosen);
  Json tokens = Json::array(), log_probs = Json::array(), all_best = Json::array(), offsets = Json::array();
  for (const ChosenToken& token : chosen) {
    tokens.push_back(token.added.text);
    log_probs.push_back(token.log_probability ? Json(*token.log_probability) : Json());
    offsets.push_back(token.offset);
    Json best = Json::object();
    for (const auto& [added, log_probability] : token.likeliest)
      if (!best.contains(added.text))
        best[added.text] = log_probability;  // the likeliest of tokens with the same text
    all_best.push_back(token.log_probability ? std::move(best) : Json());
  }
  if (*completion.options.likeliest == 0) all_best = nullptr;
  return {
      {"tokens", tokens}, {"token_logprobs", log_probs}, {"top_logprobs", all_best}, {"text_offset", offsets}};
}

const char* openai_reason(FinishReason reason) {
  return reason == FinishReason::end_token || reason == FinishReason::stop_string ? "stop" : "length";
}

Json choice_json(const Completion& completion, size_t index, const std::string& text, Json log_probs,
                 Json reason) {
  if (!completion.options.chat)
    return {{"text", text}, {"index", index}, {"logprobs", log_probs}, {"finish_reason", reason}};
  Json delta = Json::object();
  if (!text.empty() || reason.is_null()) delta["content"] = text;
  return {{"index", index}, {"delta", delta}, {"logprobs", log_probs}, {"finish_reason", reason}};
}

Json completion_json(const Completion& completion, Json choices) {
  const char* object = !completion.options.chat ? "text_completion"
                       : completion.stream      ? "chat.completion.chunk"
                                                : "chat.completion";
  return {{"id", completion.id},
          {"object", object},
          {"created", std::time(nullptr)},
          {"model", completion.model->name},
          {"choices", std::move(choices)}};
}

Json usage_of(std::span<const GeneratedTexts> all) {
  size_t prompt_tokens = 0, tokens = 0;
  for (const GeneratedTexts& texts : all) {
    prompt_tokens += texts.prompt_tokens;
    for (const GeneratedText& text : texts.texts) tokens += text.tokens;
  }
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", tokens},
          {"total_tokens", prompt_tokens + tokens}};
}

std::vector<Route> openai_routes(Service& service) {
  Service* const s = &service;
  return {{"POST", "/v1/completions",
           [s](const HttpRequest& request, const std::string&) { return completions(*s, request); },
           openai_error_body},
          {"POST", "/v1/chat/completions",
           [s](const HttpRequest& request, const std::string&) { return chat_completions(*s, request); },
           openai_error_body}};
}

}  // namespace sixfold::serve
