
#include "serve/http/json_text.h"
#include "tasks/translation/output_constraints.h"
#include "tasks/translation/routes/results.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

TranslationModel translation_model(Service& service, const Fields& fields) {
  if (const auto name = fields.text("model")) {
    const ModelPointer model = service.models().named(*name);
    if (!model) throw HttpError(404, fmt::format("There is no model named {}.", *name));
    if (TranslationModel translates = as<ServedTranslation>(model)) return translates;
    throw HttpError(400, fmt::format("The model {} does not translate.", *name));
  }
  return required_model(service, fields.required_text("source"), fields.required_text("target"));
}

/// What needs a text of a single sentence makes it one. `fields`: the names of what needs it.
void require_one_sentence(const Fields& request, const std::vector<std::string>& texts, const char* fields,
                          TextOptions& options) {
  if (texts.size() != 1 || texts[0].find_first_of("\r\n") != std::string::npos)
    throw HttpError(400, fmt::format("{} need a single text of one line.", fields));
  if (request.truth("split_sentences").value_or(false))
    throw HttpError(400,
                    fmt::format("With {} the text is one sentence; leave out \"split_sentences\".", fields));
  options.breaks = LineBreaks::lines;
}

/// Of the prefix and all phrases of a request: a prefix takes time that grows with its square.
constexpr size_t most_constraint_bytes = 4096;

void require_few_bytes(const OutputConstraints& constraints) {
  size_t bytes = constraints.prefix.size();
  for (const auto* phrases : {&constraints.phrases, &constraints.banned_phrases})
    for (const std::string& phrase : *phrases) bytes += phrase.size();
  if (bytes > most_constraint_bytes)
    throw HttpError(413,
                    fmt::format("\"prefix\", \"constraints\" and \"avoid\" have {} bytes together; at most {} "
                                "are allowed.",
                                bytes, most_constraint_bytes));
}

/// Reads what the translation must begin with, contain and avoid.
void read_constraints(const Fields& fields, const std::vector<std::string>& texts, TextOptions& options) {
  OutputConstraints& constraints = options.constraints;
  constraints.prefix = fields.text("prefix").value_or("");
  constraints.phrases = fields.texts("constraints", most_phrases);
  constraints.banned_phrases = fields.texts("avoid", most_phrases);
  if (constraints.empty()) return;
  require_few_bytes(constraints);
  require_one_sentence(fields, texts, "\"prefix\", \"constraints\" and \"avoid\"", options);
}

/// Reads which details are wanted. Those of every layer and step are large.
void read_details(const Fields& fields, const std::vector<std::string>& texts, int most_tokens,
                  TextOptions& options) {
  ExtraOutputs& details = options.details;
  details.tokens = fields.truth("tokens").value_or(false);
  details.alignment = fields.truth("alignment").value_or(false);
  details.attention = fields.truth("attention").value_or(false);
  details.all_attention = fields.truth("all_attention").value_or(false);
  details.search = fields.truth("search").value_or(false);
  if (const auto layer = fields.whole("layer", -1000, 1000)) details.layer = static_cast<int>(*layer);
  details.most_tokens = most_tokens;
  if (!details.all_attention && !details.search) return;
  if (most_tokens == 0)
    throw HttpError(400, "This server shows neither \"all_attention\" nor \"search\": observed_tokens is 0.");
  require_one_sentence(fields, texts, "\"all_attention\" and \"search\"", options);
}

/// Refuses what would silently change nothing.
void require_known(const Fields& fields) {
  const auto unknown =
      fields.unknown({"text", "model", "source", "target", "split_sentences", "n_best", "beam_size", "prefix",
                      "constraints", "avoid", "glossary_id", "tokens", "alignment", "attention", "layer",
                      "all_attention", "search", "api_key", "auth_key"});
  if (unknown) throw HttpError(400, fmt::format("\"{}\" is not a field of /v1/translate.", *unknown));
}

HttpAnswer translate_as_own(Service& service, const HttpRequest& request) {
  const Fields fields(request);
  require_known(fields);
  const TranslationModel model = translation_model(service, fields);
  const std::vector<std::string> texts = fields.required_texts("text", service.options().most_texts);
  TextOptions options;
  read_constraints(fields, texts, options);
  if (const auto id = fields.text("glossary_id"))
    options.glossary = service.glossary(request, *id, {.source = model->source, .target = model->target});
  if (!fields.truth("split_sentences").value_or(true)) options.breaks = LineBreaks::lines;
  options.alternatives =
      static_cast<int>(fields.whole("n_best", 1, service.options().most_alternatives + 1).value_or(1)) - 1;
  if (const auto beam = fields.whole("beam_size", 1, 32)) options.beam_size = static_cast<int>(*beam);
  read_details(fields, texts, service.options().most_observed_tokens, options);
  options.client = service.client_of(request);
  options.caller = service.caller_of(request);
  options.cancel = request.cancel;
  Json results = Json::array();
  for (const TextResult& text : translate(service, *model, texts, options))
    results.push_back(result_json(text, options.details));
  return {.body = json_text({{"model", model->name}, {"results", results}})};
}

}  // namespace

std::vector<Route> translate_routes(Service& service) {
  Service* const s = &service;
  return {{"POST", "/v1/translate",
           [s](const HttpRequest& request, const std::string&) { return translate_as_own(*s, request); },
           openai_error_body}};
}

}  // namespace sixfold::serve
