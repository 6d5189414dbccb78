#include "infer/output_constraints.h"
#include "serve/json_text.h"
#include "serve/service.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

std::string error_body(int status, const std::string& message) {
  const Json error{{"message", message}, {"code", status}};
  return json_text(Json{{"error", error}});
}

Json models(Service& service) {
  Json all = Json::array();
  for (const ModelPointer& model : service.models().all()) {
    Json entry{{"id", model->name}, {"object", "model"}, {"owned_by", "sixfold"}};
    entry["kind"] = model->translator ? "translation" : "language model";
    if (model->translator) entry["source"] = model->source, entry["target"] = model->target;
    all.push_back(std::move(entry));
  }
  return {{"object", "list"}, {"data", all}};
}

Json attention_of(const SentenceAttention& attention) {
  return {{"layer", attention.layer},
          {"heads", attention.heads},
          {"source", attention.source},
          {"target", attention.target},
          {"weights", attention.weights}};
}

Json translation_of(const Translation& translation, const ExtraOutputs& details) {
  Json json{{"text", translation.text},
            {"score", translation.score},
            {"log_probability", translation.log_probability},
            {"finish_reason", name_of(translation.reason)},
            {"repeats", translation.loops},
            {"unmet", translation.unmet}};
  if (details.tokens) {
    Json& tokens = json["tokens"] = Json::array();
    for (const TranslatedToken& token : translation.tokens)
      tokens.push_back({{"text", token.text}, {"log_probability", token.log_probability}});
  }
  if (details.alignment) json["alignment"] = translation.alignment;
  if (details.attention && translation.attention) json["attention"] = attention_of(*translation.attention);
  return json;
}

Json result_of(const TextResult& text, const ExtraOutputs& details) {
  Json sentences = Json::array();
  for (const TranslatedSentence& sentence : text.sentences) {
    Json translations = Json::array();
    for (const Translation& translation : sentence.translations)
      translations.push_back(translation_of(translation, details));
    sentences.push_back(
        {{"source", sentence.source}, {"tokens_cut", sentence.tokens_cut}, {"translations", translations}});
  }
  return {{"text", text.text}, {"sentences", sentences}};
}

ModelPointer translation_model(Service& service, const Fields& fields) {
  if (const auto name = fields.text("model")) {
    const ModelPointer model = service.models().named(*name);
    if (!model) throw HttpError(404, fmt::format("There is no model named {}.", *name));
    if (!model->translator) throw HttpError(400, fmt::format("The model {} does not translate.", *name));
    return model;
  }
  return service.model_between(fields.required_text("source"), fields.required_text("target"));
}

/// Reads what the translation must begin with, contain and avoid. The text then is one sentence.
void read_constraints(const Fields& fields, const std::vector<std::string>& texts, TextOptions& options) {
  OutputConstraints& constraints = options.constraints;
  constraints.prefix = fields.text("prefix").value_or("");
  constraints.phrases = fields.texts("constraints", most_phrases);
  constraints.banned_phrases = fields.texts("avoid", most_phrases);
  if (constraints.empty()) return;
  if (texts.size() != 1 || texts[0].find_first_of("\r\n") != std::string::npos)
    throw HttpError(400, "\"prefix\", \"constraints\" and \"avoid\" need a single text of one line.");
  if (fields.truth("split_sentences").value_or(false))
    throw HttpError(400,
                    "With \"prefix\", \"constraints\" and \"avoid\" the text is one sentence; leave out "
                    "\"split_sentences\".");
  options.breaks = LineBreaks::lines;
}

HttpAnswer translate(Service& service, const HttpRequest& request) {
  const Fields fields(request);
  const ModelPointer model = translation_model(service, fields);
  const std::vector<std::string> texts = fields.required_texts("text", service.options().most_texts);
  TextOptions options;
  read_constraints(fields, texts, options);
  if (const auto id = fields.text("glossary_id"))
    options.glossary = service.glossary(request, *id, {.source = model->source, .target = model->target});
  if (!fields.truth("split_sentences").value_or(true)) options.breaks = LineBreaks::lines;
  options.alternatives =
      static_cast<int>(fields.whole("n_best", 1, service.options().most_alternatives + 1).value_or(1)) - 1;
  if (const auto beam = fields.whole("beam_size", 1, 32)) options.beam_size = static_cast<int>(*beam);
  options.details.tokens = fields.truth("tokens").value_or(false);
  options.details.alignment = fields.truth("alignment").value_or(false);
  options.details.attention = fields.truth("attention").value_or(false);
  options.cancel = request.cancel;
  Json results = Json::array();
  for (const TextResult& text : service.translate(*model, texts, options))
    results.push_back(result_of(text, options.details));
  return {.body = json_text({{"model", model->name}, {"results", results}})};
}

}  // namespace

std::vector<Route> own_routes(Service& service) {
  Service* const s = &service;
  return {
      {"POST", "/v1/translate",
       [s](const HttpRequest& request, const std::string&) { return translate(*s, request); }, error_body},
      {"GET", "/v1/models",
       [s](const HttpRequest&, const std::string&) { return HttpAnswer{.body = json_text(models(*s))}; },
       error_body,
       /*open=*/true},
  };
}

}  // namespace sixfold::serve
