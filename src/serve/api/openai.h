#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "serve/service.h"
#include "tasks/language_model/routes/served.h"

namespace sixfold::serve {

/// A request to /v1/completions.
struct Completion {
  std::string id;
  std::shared_ptr<const ServedLanguageModel> model;
  std::vector<Prompt> prompts;  ///< with their texts, for `echo`, also where they are tokens
  GenerateOptions options;
  bool stream = false, echo = false;
  bool usage = false;                  ///< whether a stream tells the numbers of tokens at its end
  std::shared_ptr<const Share> share;  ///< of the texts that wait, until the completion or its stream ends
};

/// The tokens of a text; null if they were not wanted.
nlohmann::ordered_json log_probs_of(std::span<const ChosenToken> chosen, const Completion& wanted);
const char* openai_reason(FinishReason reason);
nlohmann::ordered_json completion_json(const Completion& wanted, nlohmann::ordered_json choices);
/// The numbers of tokens.
nlohmann::ordered_json usage_of(std::span<const GeneratedTexts> all);

/// Answers with the pieces of the texts as they come, as server-sent events. Returns when there is a first one.
/// Throws what ends the generation before that, so that the client gets a status.
HttpAnswer stream_completion(const Completion& wanted);

/// /v1/completions.
std::vector<Route> openai_routes(Service& service);
/// /v1/embeddings.
std::vector<Route> openai_embedding_routes(Service& service);

}  // namespace sixfold::serve
