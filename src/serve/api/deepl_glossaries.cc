#include <algorithm>

#include "serve/api/deepl.h"
#include "serve/http/json_text.h"
#include "tasks/translation/routes/served.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const StoredGlossary& glossary) {
  return {{"glossary_id", glossary.id},
          {"name", glossary.name},
          {"ready", true},
          {"source_lang", glossary.source},
          {"target_lang", glossary.target},
          {"creation_time", glossary.created},
          {"entry_count", glossary.glossary->entries().size()}};
}

/// Returns the next field of a line of CSV, which may be in quotation marks, and moves `at` after the comma or
/// to the end of the line.
std::string next_field(const std::string& csv, size_t& at) {
  std::string field;
  if (at < csv.size() && csv[at] == '"') {
    for (++at; at < csv.size(); ++at) {
      if (csv[at] == '"' && (++at == csv.size() || csv[at] != '"')) break;
      field += csv[at];
    }
  }
  for (; at < csv.size() && csv[at] != ',' && csv[at] != '\n' && csv[at] != '\r'; ++at) field += csv[at];
  if (at < csv.size() && csv[at] == ',') ++at;
  return field;
}

/// Reads lines of a source phrase, a target phrase and, optionally, their languages, which are ignored.
Glossary read_csv(const std::string& csv) {
  std::vector<GlossaryEntry> entries;
  for (size_t at = csv.starts_with("\uFEFF") ? 3 : 0; at < csv.size();) {
    if (csv[at] == '\n' || csv[at] == '\r') {
      ++at;
      continue;
    }
    GlossaryEntry& entry = entries.emplace_back();
    entry.source = next_field(csv, at);
    entry.target = next_field(csv, at);
    for (int more = 0; more < 2 && at < csv.size() && csv[at] != '\n' && csv[at] != '\r'; ++more)
      next_field(csv, at);
    if (at < csv.size() && csv[at] != '\n' && csv[at] != '\r')
      throw HttpError(400, fmt::format("Line {} of the entries has more than 4 fields.", entries.size()));
  }
  return Glossary(std::move(entries));
}

HttpAnswer create(Service& service, const HttpRequest& request) {
  const Fields fields(request);
  const std::string format = fields.required_text("entries_format");
  if (format != "tsv" && format != "csv") throw HttpError(400, "\"entries_format\" must be one of: tsv, csv.");
  const std::string entries = fields.required_text("entries");
  StoredGlossary glossary{.name = fields.required_text("name"),
                          .source = deepl_language("source_lang", fields.required_text("source_lang"),
                                                   source_languages(service.models())),
                          .target = deepl_language("target_lang", fields.required_text("target_lang"),
                                                   target_languages(service.models()))};
  required_pair(service, glossary.source, glossary.target);
  glossary.glossary = std::make_shared<const Glossary>(format == "tsv" ? Glossary::from_tsv(entries, "entries")
                                                                       : read_csv(entries));
  return {
      .status = 201,
      .body = json_text(json_of(service.glossaries().add(service.client_of(request), std::move(glossary))))};
}

HttpAnswer list(Service& service, const HttpRequest& request) {
  Json all = Json::array();
  for (const StoredGlossary& glossary : service.glossaries().all(service.client_of(request)))
    all.push_back(json_of(glossary));
  return {.body = json_text({{"glossaries", all}})};
}

/// Answers GET of a glossary, or of its entries.
HttpAnswer show(Service& service, const HttpRequest& request, const std::string& part) {
  const size_t slash = part.find('/');
  const StoredGlossary glossary = service.glossaries().find(service.client_of(request), part.substr(0, slash));
  if (slash == std::string::npos) return {.body = json_text(json_of(glossary))};
  if (part.substr(slash) != "/entries")
    throw HttpError(404, fmt::format("This server has no {}.", request.path));
  return {.content_type = "text/tab-separated-values; charset=utf-8", .body = glossary.glossary->to_tsv()};
}

HttpAnswer remove(Service& service, const HttpRequest& request, const std::string& id) {
  service.glossaries().remove(service.client_of(request), id);
  return {.status = 204};
}

HttpAnswer pairs(Service& service) {
  Json all = Json::array();
  for (const TranslationModel& model : service.models().all_of<ServedTranslation>())
    for (const std::string& source : model->sources)
      for (const std::string& target : model->targets)
        if ((source != target || model->sources.size() == 1) && model->translates({source, target}))
          all.push_back({{"source_lang", source}, {"target_lang", target}});
  return {.body = json_text({{"supported_languages", all}})};
}

}  // namespace

std::vector<Route> deepl_glossary_routes(Service& service) {
  Service* const s = &service;
  const auto route = [](const char* method, const char* path, auto answer) {
    return Route{method, path, answer, deepl_error_body};
  };
  return {
      route("POST", "/v2/glossaries", [s](const HttpRequest& r, const std::string&) { return create(*s, r); }),
      route("GET", "/v2/glossaries", [s](const HttpRequest& r, const std::string&) { return list(*s, r); }),
      route("GET", "/v2/glossaries/*",
            [s](const HttpRequest& r, const std::string& part) { return show(*s, r, part); }),
      route("DELETE", "/v2/glossaries/*",
            [s](const HttpRequest& r, const std::string& part) { return remove(*s, r, part); }),
      route("GET", "/v2/glossary-language-pairs",
            [s](const HttpRequest&, const std::string&) { return pairs(*s); }),
  };
}

}  // namespace sixfold::serve
