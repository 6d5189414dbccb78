// OpenAI's /v1/embeddings.
#include <fmt/ranges.h>

#include "base/base64.h"
#include "serve/api/openai.h"
#include "serve/http/json_text.h"
#include "tasks/embedding/routes/served.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

std::shared_ptr<const ServedEmbedder> embedder_of(Service& service, const Fields& fields) {
  const std::string name = fields.required_text("model");
  const ModelPointer model = service.models().find(name);
  if (!model) throw HttpError(404, fmt::format("There is no model named {}.", name));
  auto embedder = as<ServedEmbedder>(model);
  if (!embedder)
    throw HttpError(400, fmt::format("The model {} does not embed texts; its task is {}.", name, model->task));
  return embedder;
}

std::vector<std::string> input_of(Service& service, const Fields& fields) {
  const ServiceOptions& limits = service.options();
  if (fields.token_lists("input", limits.max_texts, limits.max_text_bytes))
    throw HttpError(400,
                    "\"input\" has numbers of tokens, which are those of another tokenizer; send texts (in "
                    "LangChain: check_embedding_ctx_length=False).");
  std::vector<std::string> texts = fields.required_texts("input", limits.max_texts);
  if (texts.empty()) throw HttpError(400, "\"input\" is an empty list; it must have a text.");
  service.require_few_bytes(texts);
  return texts;
}

/// Reads encoding_format, and refuses fields that are not supported. Returns whether the numbers are to be
/// encoded in base64.
bool wants_base64(const Fields& fields, const Embedder& embedder) {
  const bool base64 = fields.one_of("encoding_format", {"float", "base64"}) == "base64";
  if (fields.integer("dimensions", 1, 1 << 20).value_or(embedder.size()) != embedder.size())
    throw HttpError(400, fmt::format("\"dimensions\" is not supported; embeddings of this model have {}.",
                                     embedder.size()));
  fields.ignore({"user", "api_key", "auth_key"});
  if (const auto unknown = fields.unread())
    throw HttpError(400, fmt::format("\"{}\" is not a field of /v1/embeddings.", *unknown));
  return base64;
}

std::string numbers_text(std::span<const float> values, bool as_base64) {
  if (!as_base64) return fmt::format("[{}]", fmt::join(values, ","));
  const auto bytes = std::as_bytes(values);  // little endian, as in memory
  return '"' + base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) + '"';
}

/// The body of the answer. It is composed as text, because a tree of JSON takes ten times the memory of the
/// numbers.
std::string body_of(const std::string& model, std::span<const TextEmbedding> all, bool as_base64) {
  std::string data;
  size_t tokens = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    data += fmt::format(R"({}{{"object":"embedding","index":{},"embedding":{}}})", i == 0 ? "" : ",", i,
                        numbers_text(all[i].values, as_base64));
    tokens += all[i].tokens;
  }
  return fmt::format(R"({{"object":"list","data":[{}],"model":{},"usage":{}}})", data, json_text(Json(model)),
                     json_text({{"prompt_tokens", tokens}, {"total_tokens", tokens}}));
}

HttpAnswer embeddings(Service& service, const HttpRequest& request) {
  const Fields fields(request);
  const auto model = embedder_of(service, fields);
  const std::vector<std::string> texts = input_of(service, fields);
  const bool as_base64 = wants_base64(fields, model->predictor());
  const auto reservation = service.reserve_text_bytes(bytes_of(texts));
  const std::vector<TextEmbedding> all = model->predictor().embed(texts, {.cancel = request.cancel});
  size_t cut = 0;
  for (const TextEmbedding& embedding : all) {
    if (embedding.error) throw HttpError(500, fmt::format("{}: {}", model->folder, *embedding.error));
    cut += embedding.tokens_cut > 0;
  }
  service.count_cut_sentences(model->name, cut);
  return {.body = body_of(model->name, all, as_base64)};
}

}  // namespace

std::vector<Route> openai_embedding_routes(Service& service) {
  Service* const s = &service;
  return {{"POST", "/v1/embeddings",
           [s](const HttpRequest& request, const std::string&) { return embeddings(*s, request); },
           openai_error_body}};
}

}  // namespace sixfold::serve
