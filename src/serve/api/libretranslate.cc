#include "serve/api/libretranslate.h"

#include <algorithm>

#include "serve/api/any_language.h"
#include "serve/http/json_text.h"

namespace sixfold::serve {

std::string source_of(const Fields& fields) {
  std::string source = fields.required_text("source");
  if (source.empty()) throw HttpError(400, "\"source\" is empty; it must be the code of a language, or auto.");
  return source;
}

namespace {

using Json = nlohmann::ordered_json;

HttpAnswer answer(const Json& body) { return {.body = json_text(body)}; }

Json detection(const DetectedLanguage& detected) {
  return {{"confidence", static_cast<double>(detected.confidence)}, {"language", detected.language}};
}

Json languages(Service& service) {
  Json all = Json::array();
  for (const std::string& code : all_languages(service.models())) {
    Json targets{code};  // a text that is in the target language stays as it is
    for (const std::string& target : target_languages(service.models(), code))
      if (target != code) targets.push_back(target);
    all.push_back({{"code", code}, {"name", language_name(code)}, {"targets", targets}});
  }
  return all;
}

/// A request to /translate.
struct TranslateRequest {
  std::vector<std::string> texts;
  bool list;
  std::string source, target, format;
  int alternatives;

  TranslateRequest(const Fields& fields, const ServiceOptions& options)
      : texts(fields.required_texts("q", options.max_texts)),
        list(fields.is_list("q")),
        source(source_of(fields)),
        target(fields.required_text("target")),
        format(fields.one_of("format", {"text", "html"})),
        alternatives(
            static_cast<int>(fields.integer("alternatives", 0, options.max_alternatives).value_or(0))) {}
};

HttpAnswer translate_as_libretranslate(Service& service, const HttpRequest& request) {
  const TranslateRequest input(Fields(request), service.options());
  const bool detect = input.source == "auto";
  Json texts = Json::array(), detections = Json::array(), alternatives = Json::array();
  const std::vector<TranslatedInput> answers = translate_from_any(
      service, {.texts = input.texts,
                .source = detect ? "" : input.source,
                .target = input.target,
                .options = {.kind = input.format == "html" ? TextKind::html : TextKind::plain,
                            .translation = {.n_best = input.alternatives + 1,
                                            .caller = service.scheduling_key(request),
                                            .cancel = request.cancel},
                            .client = service.client_of(request)}});
  for (const TranslatedInput& text : answers) {
    texts.push_back(text.text);
    detections.push_back(detection(text.detected));
    alternatives.push_back(text.alternatives);
  }
  const auto shape = [&](const Json& all) { return input.list ? all : all[0]; };
  Json body{{"translatedText", shape(texts)}};
  if (detect) body["detectedLanguage"] = shape(detections);
  if (input.alternatives > 0) body["alternatives"] = shape(alternatives);
  HttpAnswer result = answer(body);
  add_cut_header(result, answers);
  return result;
}

HttpAnswer detect(Service& service, const HttpRequest& request) {
  Json all = Json::array();
  const auto known = all_languages(service.models());
  if (known.empty()) throw HttpError(400, "This server has no translation model.");
  const std::string text = Fields(request).required_text("q");
  service.require_few_bytes(text.size());
  for (const DetectedLanguage& detected : detect_language(text, known)) all.push_back(detection(detected));
  return answer(all);
}

Json frontend_settings(Service& service) {
  const Json all = languages(service);
  const auto language = [&](const std::string& code) {
    return Json{{"code", code}, {"name", language_name(code)}};
  };
  Json settings{{"apiKeys", service.keys().needed()},
                {"charLimit", service.options().max_text_bytes},
                {"filesTranslation", true},
                {"frontendTimeout", 500},
                {"keyRequired", service.keys().needed()},
                {"suggestions", service.suggestions().enabled()},
                {"supportedFilesFormat", file_extensions()}};
  for (const TranslationModel& model : service.models().all_of<ServedTranslation>()) {
    if (model->source.empty() || model->target.empty()) continue;
    settings["language"] = {{"source", language(model->source)}, {"target", language(model->target)}};
    break;
  }
  return settings;
}

}  // namespace

std::vector<Route> libretranslate_routes(Service& service) {
  Service* const s = &service;
  const auto route = [](std::string method, std::string path, auto handler, bool is_public) {
    return Route{std::move(method), std::move(path),
                 [handler](const HttpRequest& request, const std::string&) { return handler(request); },
                 libretranslate_error_body, is_public};
  };
  std::vector<Route> routes{
      route(
          "POST", "/translate", [s](const HttpRequest& r) { return translate_as_libretranslate(*s, r); },
          false),
      route(
          "POST", "/detect", [s](const HttpRequest& r) { return detect(*s, r); }, false),
      route(
          "GET", "/languages", [s](const HttpRequest&) { return answer(languages(*s)); }, true),
      route(
          "GET", "/frontend/settings", [s](const HttpRequest&) { return answer(frontend_settings(*s)); }, true),
  };
  for (Route& other : libretranslate_file_routes(service)) routes.push_back(std::move(other));
  return routes;
}

}  // namespace sixfold::serve
