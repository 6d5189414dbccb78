// What /v1/translate answers, as JSON.
#include "tasks/translation/routes/results.h"

#include <cmath>

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

/// Attention has many numbers: five decimals are enough to show them.
Json weights_json(const SentenceAttention& attention) {
  Json weights = Json::array();
  for (const float weight : attention.weights)
    weights.push_back(std::round(static_cast<double>(weight) * 1e5) / 1e5);
  return weights;
}

Json attention_json(const SentenceAttention& attention) {
  return {{"layer", attention.layer},
          {"heads", attention.heads},
          {"source", attention.source},
          {"target", attention.target},
          {"source_words", attention.source_words},
          {"target_words", attention.target_words},
          {"weights", weights_json(attention)}};
}

Json all_attention_json(const std::vector<SentenceAttention>& layers) {
  Json all = Json::array();
  for (const SentenceAttention& layer : layers) {
    all.push_back({{"kind", name_of_enum(layer.kind)},
                   {"layer", layer.layer},
                   {"heads", layer.heads},
                   {"source", layer.source},
                   {"target", layer.target},
                   {"weights", weights_json(layer)}});
  }
  return all;
}

Json search_json(const SearchSteps& steps) {
  Json all = Json::array();
  for (const auto& step : steps) {
    Json hypotheses = Json::array();
    for (const SearchedHypothesis& one : step)
      hypotheses.push_back({{"parent", one.parent < 0 ? Json() : Json(one.parent)},
                            {"token", one.token},
                            {"log_probability", one.log_probability},
                            {"score", one.score},
                            {"fate", name_of_enum(one.fate)}});
    all.push_back(std::move(hypotheses));
  }
  return all;
}

Json translation_json(const Translation& translation, const ExtraOutputs& details) {
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
  if (details.attention && translation.attention) json["attention"] = attention_json(*translation.attention);
  if (!translation.all_attention.empty()) json["all_attention"] = all_attention_json(translation.all_attention);
  return json;
}

}  // namespace

Json result_json(const TextResult& text, const ExtraOutputs& details) {
  Json sentences = Json::array();
  for (const TranslatedLine& sentence : text.sentences) {
    Json translations = Json::array();
    for (const Translation& translation : sentence.translations)
      translations.push_back(translation_json(translation, details));
    Json one{{"source", sentence.source}, {"tokens_cut", sentence.tokens_cut}, {"translations", translations}};
    if (details.search) one["search"] = search_json(sentence.search);
    sentences.push_back(std::move(one));
  }
  return {{"text", text.text}, {"sentences", sentences}};
}

}  // namespace sixfold::serve
