// OpenAI's /v1/chat/completions.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "serve/api/openai.h"
#include "tasks/language_model/conversation.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t max_chat_log_probs = 20;  // OpenAI's limit

/// The conversation as a prompt, and the size of its texts.
std::pair<Prompt, size_t> prompt_of(const Fields& fields, const Generator& generator, size_t max_bytes) {
  const auto list = fields.json_text("messages");
  if (!list) throw HttpError(400, "The request has no \"messages\".");
  try {
    const std::vector<ChatMessage> messages = read_messages(*list);
    size_t bytes = 0;
    for (const ChatMessage& message : messages) bytes += message.role.size() + message.content.size();
    if (bytes > max_bytes)
      throw HttpError(413,
                      fmt::format("The messages have {} bytes; at most {} are allowed.", bytes, max_bytes));
    return {generator.chat_prompt(messages), bytes};
  } catch (const Error& error) {
    throw HttpError(400, fmt::format("\"messages\": {}.", error.what()));
  }
}

/// Sets the maximum number of new tokens.
void read_max_tokens(const Fields& fields, const ServiceOptions& limits, Completion& completion) {
  const auto old_name = fields.integer("max_tokens", 1, limits.max_new_tokens),
             given = fields.integer("max_completion_tokens", 1, limits.max_new_tokens);
  if (old_name && given)
    throw HttpError(400, "\"max_tokens\" and \"max_completion_tokens\" are the same; send one.");
  completion.options.default_limit = limits.max_new_tokens;
  for (const auto& tokens : {old_name, given})
    if (tokens) completion.options.max_tokens = static_cast<int>(*tokens);
}

void read_log_probs(const Fields& fields, GenerateOptions& options) {
  const bool wants_log_probs = fields.boolean("logprobs").value_or(false);
  const auto likeliest = fields.integer("top_logprobs", 0, max_chat_log_probs);
  if (likeliest && !wants_log_probs) throw HttpError(400, "\"top_logprobs\" needs \"logprobs\".");
  if (wants_log_probs) options.likeliest = static_cast<int>(likeliest.value_or(0));
}

/// Refuses requests for answers other than a text.
void refuse_other_answers(const Fields& fields) {
  for (const char* name : {"tools", "functions"})
    if (fields.has(name)) throw HttpError(400, fmt::format("\"{}\" is not supported.", name));
  if (const auto format = fields.object("response_format"); format && format->text("type") != "text")
    throw HttpError(400, "\"response_format\" may be \"text\" only.");
  // These fields have no effect on the answer.
  fields.ignore({"metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"});
}

/// A token with the bytes that it adds to the text; null if it adds none of its own.
Json token_json(const AddedText& added, double log_probability) {
  Json bytes;
  if (!added.is_name) {
    bytes = Json::array();
    for (const char c : added.text) bytes.push_back(static_cast<unsigned char>(c));
  }
  return {{"token", added.text}, {"logprob", log_probability}, {"bytes", std::move(bytes)}};
}

}  // namespace

Json chat_log_probs_of(std::span<const ChosenToken> chosen) {
  Json content = Json::array();
  for (const ChosenToken& token : chosen) {
    Json one = token_json(token.added, token.log_probability.value_or(0));
    one["top_logprobs"] = Json::array();
    for (const auto& [added, log_probability] : token.likeliest)
      one["top_logprobs"].push_back(token_json(added, log_probability));
    content.push_back(std::move(one));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

HttpAnswer chat_completions(Service& service, const HttpRequest& request) {
  const Fields fields(request);
  refuse_unsupported_by_openai(fields);
  refuse_other_answers(fields);
  Completion completion;
  completion.id = fmt::format("chatcmpl-{}", service.next_request_number());
  completion.model = language_model_of(service, fields);
  if (settings_of<LanguageModelSettings>(completion.model->predictor().config()).chat.format.empty())
    throw HttpError(400,
                    fmt::format("The model {} has no chat format; /v1/completions continues texts with it.",
                                completion.model->name));
  auto [prompt, bytes] = prompt_of(fields, completion.model->predictor(), service.options().max_text_bytes);
  completion.prompts.push_back(std::move(prompt));
  completion.options.chat = true;
  read_max_tokens(fields, service.options(), completion);
  read_log_probs(fields, completion.options);
  read_sampling_options(service, fields, completion.options);
  read_stream_options(fields, completion, "/v1/chat/completions");
  admit(service, request, bytes, completion);
  return answer(completion);
}

}  // namespace sixfold::serve
