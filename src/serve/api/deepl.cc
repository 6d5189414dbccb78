#include "serve/api/deepl.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "base/ascii.h"
#include "serve/api/any_language.h"
#include "serve/http/json_text.h"
#include "text/utf8.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string deepl_code(std::string code) { return ascii_upper(code); }

std::string deepl_language(std::string_view field, const std::string& code,
                           const std::vector<std::string>& languages) {
  const std::string deepl_name = deepl_code(code);
  for (const std::string& language : languages)
    if (deepl_code(language) == deepl_name) return language;
  for (const std::string& language : languages)
    if (deepl_code(language) == deepl_name.substr(0, deepl_name.find('-'))) return language;
  std::vector<std::string> all;
  for (const std::string& language : languages) all.push_back(deepl_code(language));
  throw HttpError(400, fmt::format("Value for '{}' not supported: {}. This server has: {}.", field, code,
                                   fmt::join(all, ", ")));
}

namespace {

/// Refuses fields that are not supported, rather than ignoring them. All other fields have been read before.
void refuse_unsupported_by_deepl(const Fields& fields) {
  // These values leave the choice to the server; "more" and "less" are refused.
  fields.one_of("formality", {"default", "prefer_more", "prefer_less"});
  fields.boolean("preserve_formatting");  // formatting is always preserved
  fields.ignore({"context", "auth_key", "enable_beta_languages", "tag_handling_version"});
  if (const auto unknown = fields.unread())
    throw HttpError(400, fmt::format("Parameter '{}' is not supported.", *unknown));
}

LineBreaks breaks_of(const Fields& fields) {
  const std::string split = fields.one_of("split_sentences", {"1", "0", "nonewlines"});
  return split == "1"   ? LineBreaks::lines_and_sentences
         : split == "0" ? LineBreaks::none
                        : LineBreaks::sentences;
}

/// Reads the names of tags: a list of names, or texts of names separated by commas.
std::vector<std::string> tags_of(const Fields& fields, std::string_view name) {
  std::vector<std::string> tags;
  for (const std::string& text : fields.texts(name, 1000)) {
    std::istringstream names(text);
    for (std::string tag; std::getline(names, tag, ',');)
      if (const std::string_view bare = trim_spaces(tag); !bare.empty()) tags.emplace_back(bare);
  }
  return tags;
}

void read_tag_handling(const Fields& fields, TextOptions& options) {
  XmlOptions& xml = options.xml;
  xml.splitting_tags = tags_of(fields, "splitting_tags");
  xml.non_splitting_tags = tags_of(fields, "non_splitting_tags");
  xml.ignore_tags = tags_of(fields, "ignore_tags");
  xml.outline_detection = fields.boolean("outline_detection").value_or(true);
  const std::string handling = fields.has("tag_handling") ? fields.one_of("tag_handling", {"xml", "html"}) : "";
  if (!handling.empty()) options.kind = handling == "xml" ? TextKind::xml : TextKind::html;
  const bool has_defaults = xml.outline_detection && xml.splitting_tags.empty() &&
                            xml.non_splitting_tags.empty() && xml.ignore_tags.empty();
  if (handling != "xml" && !has_defaults)
    throw HttpError(400,
                    "outline_detection, splitting_tags, non_splitting_tags and ignore_tags need "
                    "tag_handling=xml.");
}

/// The value of model_type_used in the answer; empty if the request has no model_type. One model serves both
/// types.
std::string model_type_used(const Fields& fields) {
  if (!fields.has("model_type")) return "";
  const std::string model_type =
      fields.one_of("model_type", {"quality_optimized", "prefer_quality_optimized", "latency_optimized"});
  return model_type == "latency_optimized" ? model_type : "quality_optimized";
}

HttpAnswer translate_as_deepl(Service& service, const HttpRequest& request) {
  const Fields fields(request);
  TranslationInput input{.texts = fields.required_texts("text", service.options().max_texts),
                         .source = "",
                         .target = deepl_language("target_lang", fields.required_text("target_lang"),
                                                  target_languages(service.models()))};
  if (const auto source = fields.text("source_lang"); source && !source->empty())
    input.source = deepl_language("source_lang", *source, source_languages(service.models()));
  if (const auto id = fields.text("glossary_id"); id && !id->empty()) {
    if (input.source.empty()) throw HttpError(400, "'glossary_id' needs 'source_lang'.");
    input.options.translation.glossary =
        service.glossary(request, *id, {.source = input.source, .target = input.target});
  }
  input.options.breaks = breaks_of(fields);
  input.options.client = service.client_of(request);
  input.options.translation.caller = service.scheduling_key(request);
  input.options.translation.cancel = request.cancel;
  read_tag_handling(fields, input.options);
  const bool billed = fields.boolean("show_billed_characters").value_or(false);
  const std::string used = model_type_used(fields);
  refuse_unsupported_by_deepl(fields);
  Json translations = Json::array();
  const std::vector<TranslatedInput> answers = translate_from_any(service, input);
  for (size_t i = 0; i < answers.size(); ++i) {
    Json translation{{"detected_source_language", deepl_code(answers[i].detected.language)},
                     {"text", answers[i].text}};
    if (billed) translation["billed_characters"] = count_characters(input.texts[i]);
    if (!used.empty()) translation["model_type_used"] = used;
    translations.push_back(std::move(translation));
  }
  HttpAnswer answer{.body = json_text({{"translations", translations}})};
  add_cut_header(answer, answers);
  return answer;
}

HttpAnswer languages(Service& service, const HttpRequest& request) {
  const bool target = Fields(request).one_of("type", {"source", "target"}) == "target";
  Json all = Json::array();
  for (const std::string& code :
       target ? target_languages(service.models()) : source_languages(service.models())) {
    Json language{{"language", deepl_code(code)}, {"name", language_name(code)}};
    if (target) language["supports_formality"] = false;
    all.push_back(std::move(language));
  }
  return {.body = json_text(all)};
}

/// The limit can't be reached in practice, like that of DeepL's accounts without a limit.
HttpAnswer usage(Service& service, const HttpRequest& request) {
  return {.body = json_text(Json{{"character_count", service.characters(service.client_of(request))},
                                 {"character_limit", 1'000'000'000'000}})};
}

}  // namespace

std::vector<Route> deepl_routes(Service& service) {
  Service* const s = &service;
  std::vector<Route> routes = deepl_glossary_routes(service);
  for (const char* method : {"GET", "POST"}) {
    routes.push_back(
        {method, "/v2/translate",
         [s](const HttpRequest& request, const std::string&) { return translate_as_deepl(*s, request); },
         deepl_error_body});
    routes.push_back({method, "/v2/languages",
                      [s](const HttpRequest& request, const std::string&) { return languages(*s, request); },
                      deepl_error_body});
    routes.push_back({method, "/v2/usage",
                      [s](const HttpRequest& request, const std::string&) { return usage(*s, request); },
                      deepl_error_body});
  }
  return routes;
}

}  // namespace sixfold::serve
