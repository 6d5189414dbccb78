// The routes that describe the models.
#include <cmath>

#include "model/config.h"
#include "model/position_encodings.h"
#include "serve/http/json_text.h"
#include "serve/service.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

Json model_json(const ServedModel& model) {
  const ModelConfig& config = model.predictor().config();
  Json entry{{"id", model.name}, {"object", "model"}, {"created", model.created}, {"owned_by", "sixfold"}};
  model.describe(entry);
  entry["architecture"] = {{"d_model", config.d_model},
                           {"d_ff", config.d_ff},
                           {"heads", config.heads},
                           {"encoder_layers", config.encoder_layers},
                           {"decoder_layers", config.decoder_layers},
                           {"encoder_mixer", name_of_enum(config.encoder_mixer)},
                           {"decoder_mixer", name_of_enum(config.decoder_mixer)},
                           {"positions", name_of_enum(config.positions)},
                           {"vocabulary", config.target_vocab}};
  if (config.decoder_heads) entry["architecture"]["decoder_heads"] = config.decoder_heads;
  if (config.decoder_d_ff) entry["architecture"]["decoder_d_ff"] = config.decoder_d_ff;
  if (model.ensemble_size > 1) entry["ensemble_size"] = model.ensemble_size;
  if (config.context_tokens > 0) entry["architecture"]["context_tokens"] = config.context_tokens;
  entry["generation"] = {{"beam_size", config.generation.beam_size},
                         {"normalization", name_of_enum(config.generation.normalization)},
                         {"length_penalty", config.generation.length_penalty}};
  return entry;
}

Json models_json(Service& service) {
  Json all = Json::array();
  for (const ModelPointer& model : service.models().all()) all.push_back(model_json(*model));
  const ServiceOptions& options = service.options();
  return {{"object", "list"},
          {"data", all},
          {"limits",
           {{"alternatives", options.max_alternatives},
            {"observed_tokens", options.max_observed_tokens},
            {"new_tokens", options.max_new_tokens}}},
          {"key_needed", service.keys().needed()}};
}

Json positions_json(const ServedModel& model, int64_t count) {
  const ModelConfig& config = model.predictor().config();
  Json json{{"model", model.name},        {"kind", name_of_enum(config.positions)},
            {"d_model", config.d_model},  {"positions", 0},
            {"encodings", Json::array()}, {"similarity", Json::array()}};
  if (!adds_position_vectors(config.positions)) return json;
  const std::vector<float> table = model.predictor().position_encodings(count);
  const auto width = static_cast<size_t>(config.d_model), rows = table.size() / width;
  const auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
  for (const float value : table) json["encodings"].push_back(rounded(static_cast<double>(value)));
  for (size_t a = 0; a < rows; ++a)
    for (size_t b = 0; b < rows; ++b)
      json["similarity"].push_back(rounded(cosine_similarity(std::span(table).subspan(a * width, width),
                                                             std::span(table).subspan(b * width, width))));
  json["positions"] = rows;
  return json;
}

/// Answers /v1/models/NAME and /v1/models/NAME/positions.
HttpAnswer describe(Service& service, const HttpRequest& request, const std::string& part) {
  constexpr std::string_view positions = "/positions";
  const bool wants_positions = part.ends_with(positions);
  const std::string name = wants_positions ? part.substr(0, part.size() - positions.size()) : part;
  const ModelPointer model = service.models().find(name);
  if (!model) throw HttpError(404, fmt::format("There is no model named {}.", name));
  if (!wants_positions) return {.body = json_text(model_json(*model))};
  const int64_t count = Fields(request).integer("count", 1, 256).value_or(64);
  return {.body = json_text(positions_json(*model, count))};
}

}  // namespace

std::vector<Route> model_routes(Service& service) {
  Service* const s = &service;
  return {
      {"GET", "/v1/models",
       [s](const HttpRequest&, const std::string&) { return HttpAnswer{.body = json_text(models_json(*s))}; },
       openai_error_body,
       /*is_public=*/true},
      {"GET", "/v1/models/*",
       [s](const HttpRequest& request, const std::string& part) { return describe(*s, request, part); },
       openai_error_body,
       /*is_public=*/true},
  };
}

}  // namespace sixfold::serve
