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
  std::vector<Prompt> prompts;  ///< with their texts, for `echo`, also where they are tokens
  GenerateOptions options;      ///< with `chat` for /v1/chat/completions
  bool stream = false, echo = false;
  bool usage = false;  ///< whether a stream tells the numbers of tokens at its end
  std::shared_ptr<const Reservation>
      share;  ///< of the texts that wait, until the completion or its stream ends
};

/// The language model that a request names. Throws an `HttpError` if there is none.
std::shared_ptr<const ServedLanguageModel> language_model_of(Service& service, const Fields& fields);
/// Refuses penalties and other settings of OpenAI's that would silently change nothing.
void refuse_unsupported_by_openai(const Fields& fields);
/// Reads how texts are drawn: temperature, seed, stop strings and others that both requests have.
void read_sampling_options(Service& service, const Fields& fields, GenerateOptions& options);
/// Reads whether and how a completion is streamed, and refuses fields that nothing has read.
void read_stream_options(const Fields& fields, Completion& completion, std::string_view path);
/// Lets a completion wait for its turn. `bytes`: the size of its texts. Throws an `HttpError` if it asks for
/// too much, or if the model can't continue a prompt.
void admit(Service& service, const HttpRequest& request, size_t bytes, Completion& completion);
/// Answers a completion, as a stream if it is one.
HttpAnswer answer(const Completion& completion);

// Parts of answers, which have the form of the request.

/// The tokens of a text; null if they were not completion.
nlohmann::ordered_json log_probs_of(std::span<const ChosenToken> chosen, const Completion& completion);
/// The same for a chat.
nlohmann::ordered_json chat_log_probs_of(std::span<const ChosenToken> chosen);
const char* openai_reason(FinishReason reason);
/// A piece of a text of a stream, or its end with the reason.
nlohmann::ordered_json choice_json(const Completion& completion, size_t index, const std::string& text,
                                   nlohmann::ordered_json log_probs, nlohmann::ordered_json reason);
/// An answer, or a part of a stream.
nlohmann::ordered_json completion_json(const Completion& completion, nlohmann::ordered_json choices);
/// The numbers of tokens.
nlohmann::ordered_json usage_of(std::span<const GeneratedTexts> all);

/// Answers with the pieces of the texts as they come, as server-sent events. Returns when there is a first one.
/// Throws what ends the generation before that, so that the client gets a status.
HttpAnswer stream_completion(const Completion& completion);

/// /v1/chat/completions.
HttpAnswer chat_completions(Service& service, const HttpRequest& request);
/// /v1/completions and /v1/chat/completions.
std::vector<Route> openai_routes(Service& service);
/// /v1/embeddings.
std::vector<Route> openai_embedding_routes(Service& service);

}  // namespace sixfold::serve
