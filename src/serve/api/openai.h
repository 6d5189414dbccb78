#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "serve/service.h"
#include "tasks/language_model/routes/served.h"

namespace sixfold::serve {

/// A request to /v1/completions or /v1/chat/completions.
struct Completion {
  std::string id;
  std::shared_ptr<const ServedLanguageModel> model;
  std::vector<Prompt> prompts;  ///< with their texts, which `echo` needs, even if they were given as tokens
  GenerateOptions options;      ///< `chat` is set for /v1/chat/completions
  bool stream = false, echo = false;
  bool usage = false;  ///< whether a stream ends with the numbers of tokens
  /// Of the bytes of the prompts, until the completion or its stream ends.
  std::shared_ptr<const Reservation> reservation;
};

/// The language model that a request names. Throws an `HttpError` if there is none.
std::shared_ptr<const ServedLanguageModel> language_model_of(Service& service, const Fields& fields);
/// Refuses OpenAI's penalties and other settings that are not supported, rather than ignoring them.
void refuse_unsupported_by_openai(const Fields& fields);
/// Reads the options that both requests have: temperature, seed, stop strings and others.
void read_sampling_options(Service& service, const Fields& fields, GenerateOptions& options);
/// Reads whether and how a completion is streamed. Then refuses all fields that have not been read; call it
/// last.
void read_stream_options(const Fields& fields, Completion& completion, std::string_view path);
/// Checks the limits of a completion and reserves `bytes`, the size of its prompts. Throws an `HttpError` if a
/// limit is exceeded, or if the model can't continue a prompt.
void admit(Service& service, const HttpRequest& request, size_t bytes, Completion& completion);
/// Answers a completion, as a stream if it is one.
HttpAnswer answer(const Completion& completion);

// Parts of answers, which have the form of the request.

/// The log-probabilities of the tokens of a text; null if the request did not ask for them.
nlohmann::ordered_json log_probs_of(std::span<const ChosenToken> chosen, const Completion& completion);
/// The same for a chat.
nlohmann::ordered_json chat_log_probs_of(std::span<const ChosenToken> chosen);
const char* openai_reason(FinishReason reason);
/// A choice of an answer: a text, a piece of a streamed text, or its end with the reason.
nlohmann::ordered_json choice_json(const Completion& completion, size_t index, const std::string& text,
                                   nlohmann::ordered_json log_probs, nlohmann::ordered_json reason);
/// An answer with its choices, or a part of a stream.
nlohmann::ordered_json completion_json(const Completion& completion, nlohmann::ordered_json choices);
/// The numbers of tokens.
nlohmann::ordered_json usage_of(std::span<const GeneratedTexts> all);

/// Answers with the pieces of the texts as they are generated, as server-sent events. Returns when the first
/// piece is there. Throws an error that ends the generation before, so that the client gets its status.
HttpAnswer stream_completion(const Completion& completion);

/// /v1/chat/completions.
HttpAnswer chat_completions(Service& service, const HttpRequest& request);
/// /v1/completions and /v1/chat/completions.
std::vector<Route> openai_routes(Service& service);
/// /v1/embeddings.
std::vector<Route> openai_embedding_routes(Service& service);

}  // namespace sixfold::serve
