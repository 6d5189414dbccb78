#include <fmt/ranges.h>

#include <cmath>

#include "serve/http/json_text.h"
#include "tasks/translation/confidence.h"
#include "tasks/translation/output_constraints.h"
#include "tasks/translation/routes/texts.h"

namespace sixfold::serve {
namespace {

using Json = nlohmann::ordered_json;

/// The weights are rounded to five decimals, since there are many of them.
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

void add_confidence(const std::optional<LineConfidence>& confidence, Json& json) {
  for (const auto& [name, value] : confidence_fields(confidence)) json[name] = value ? Json(*value) : nullptr;
}

Json translation_json(const Translation& translation, const ExtraOutputs& details) {
  Json json{{"text", translation.text},
            {"score", translation.score},
            {"log_probability", translation.log_probability},
            {"finish_reason", name_of(translation.reason)},
            {"repeats", translation.faults.loops},
            {"copies", translation.faults.copies},
            {"too_long", translation.faults.too_long},
            {"unmet", translation.unmet}};
  if (details.tokens) {
    Json& tokens = json["tokens"] = Json::array();
    for (const TranslatedToken& token : translation.tokens)
      tokens.push_back({{"text", token.text}, {"log_probability", token.log_probability}});
  }
  if (details.alignment) json["alignment"] = translation.alignment;
  if (details.attention && translation.attention) json["attention"] = attention_json(*translation.attention);
  if (details.confidence) add_confidence(translation.confidence, json);
  if (!translation.all_attention.empty()) json["all_attention"] = all_attention_json(translation.all_attention);
  return json;
}

/// A text and its translations, with the requested details.
Json result_json(const TextResult& text, const ExtraOutputs& details) {
  Json sentences = Json::array();
  for (const TranslatedLine& sentence : text.sentences) {
    Json translations = Json::array();
    for (const Translation& translation : sentence.translations)
      translations.push_back(translation_json(translation, details));
    Json one{{"source", sentence.source},
             {"tokens_cut", sentence.tokens_cut},
             {"retried", sentence.retried},
             {"translations", translations}};
    if (details.search) one["search"] = search_json(sentence.search);
    sentences.push_back(std::move(one));
  }
  Json json{{"text", text.text}, {"sentences", sentences}};
  if (details.confidence) {
    std::vector<std::optional<LineConfidence>> parts;
    for (const TranslatedLine& sentence : text.sentences)
      parts.push_back(sentence.translations.front().confidence);
    add_confidence(mean_confidence(parts), json);
  }
  return json;
}

ServedPair pair_of(Service& service, const Fields& fields) {
  const auto source = fields.text("source"), target = fields.text("target");
  if (const auto name = fields.text("model")) {
    const ModelPointer model = service.models().find(*name);
    if (!model) throw HttpError(404, fmt::format("There is no model named {}.", *name));
    const TranslationModel translator = as<ServedTranslation>(model);
    if (!translator) throw HttpError(400, fmt::format("The model {} does not translate.", *name));
    if (const auto pair = serve::pair_of(translator, source.value_or(""), target.value_or(""))) return *pair;
    if (translator->has_many_languages())
      throw HttpError(
          400, fmt::format("The model {} translates {}; \"source\" and \"target\" must be among them.", *name,
                           translator->describe_pairs()));
    throw HttpError(
        400, fmt::format("The model {} translates from {} to {}; leave out \"source\" and \"target\".", *name,
                         translator->source, translator->target));
  }
  return required_pair(service, fields.required_text("source"), fields.required_text("target"));
}

/// Treats the text as one sentence. Throws an `HttpError` if there are several texts or lines. `fields`: the
/// fields of the request that need a single sentence.
void require_one_sentence(const Fields& request, const std::vector<std::string>& texts, const char* fields,
                          TextOptions& options) {
  if (texts.size() != 1 || texts[0].find_first_of("\r\n") != std::string::npos)
    throw HttpError(400, fmt::format("{} need a single text of one line.", fields));
  if (request.boolean("split_sentences").value_or(false))
    throw HttpError(400,
                    fmt::format("With {} the text is one sentence; leave out \"split_sentences\".", fields));
  options.breaks = LineBreaks::lines;
}

/// The maximum size of the prefix and all phrases of a request. The time for a prefix is quadratic in its
/// length.
constexpr size_t max_constraint_bytes = 4096;

void require_few_bytes(const OutputConstraints& constraints) {
  size_t bytes = constraints.prefix.size();
  for (const auto* phrases : {&constraints.phrases, &constraints.banned_phrases})
    for (const std::string& phrase : *phrases) bytes += phrase.size();
  if (bytes > max_constraint_bytes)
    throw HttpError(413,
                    fmt::format("\"prefix\", \"constraints\" and \"avoid\" have {} bytes together; at most {} "
                                "are allowed.",
                                bytes, max_constraint_bytes));
}

/// Reads what the translation must begin with, contain and avoid.
void read_constraints(const Fields& fields, const std::vector<std::string>& texts, TextOptions& options) {
  OutputConstraints& constraints = options.constraints;
  constraints.prefix = fields.text("prefix").value_or("");
  constraints.phrases = fields.texts("constraints", max_phrases);
  constraints.banned_phrases = fields.texts("avoid", max_phrases);
  if (constraints.empty()) return;
  require_few_bytes(constraints);
  require_one_sentence(fields, texts, "\"prefix\", \"constraints\" and \"avoid\"", options);
}

/// Reads which details are requested. `all_attention` and `search` are large, and limited to `max_tokens`.
void read_details(const Fields& fields, const std::vector<std::string>& texts, int max_tokens,
                  TextOptions& options) {
  ExtraOutputs& details = options.translation.details;
  details.tokens = fields.boolean("tokens").value_or(false);
  details.alignment = fields.boolean("alignment").value_or(false);
  details.attention = fields.boolean("attention").value_or(false);
  details.confidence = fields.boolean("confidence").value_or(false);
  details.all_attention = fields.boolean("all_attention").value_or(false);
  details.search = fields.boolean("search").value_or(false);
  if (const auto layer = fields.integer("layer", -1000, 1000)) details.layer = static_cast<int>(*layer);
  details.most_tokens = max_tokens;
  if (!details.all_attention && !details.search) return;
  if (max_tokens == 0)
    throw HttpError(400, "This server shows neither \"all_attention\" nor \"search\": observed_tokens is 0.");
  require_one_sentence(fields, texts, "\"all_attention\" and \"search\"", options);
}

/// The generation settings of the model with the changes of a request. The limits keep a request from making
/// translations much longer.
GenerationConfig generation_of(const Fields& fields, const GenerationConfig& model_settings) {
  GenerationConfig settings = model_settings;
  constexpr double max_length_factor = 3;
  const Range factors = between(0, std::max(max_length_factor, double{model_settings.length_factor}));
  fields.read(OptionVisitor::AnyOptions(settings),
              {{.option = "normalization"},
               {.option = "length_penalty"},
               {.option = "word_penalty"},
               {.option = "coverage_penalty"},
               {.option = "stopping_criterion"},
               {.option = "at_longest"},
               {.option = "length_factor", .range = factors},
               {.option = "length_offset", .range = between(0, model_settings.length_offset)},
               {.option = "max_new_tokens", .field = "max_length"},
               {.option = "min_new_tokens", .field = "min_length"},
               {.option = "repetition_penalty"},
               {.option = "no_repeat_ngram"},
               {.option = "suppress_tokens"},
               {.option = "begin_suppress_tokens"},
               {.option = "suppress_phrases"},
               {.option = "forced_first_token"},
               {.option = "allow_unk"},
               {.option = "renormalize_logits"}});
  constexpr size_t max_suppressed_tokens = 1000;  // they are applied to each hypothesis in each step
  const auto require_few = [&](const char* field, size_t tokens, size_t model_tokens) {
    if (tokens > std::max(max_suppressed_tokens, model_tokens))
      throw HttpError(400, fmt::format("\"{}\" may have {} tokens.", field, max_suppressed_tokens));
  };
  const auto tokens_of = [](const GenerationConfig& from) {
    size_t tokens = 0;
    for (const std::vector<int>& phrase : from.suppress_phrases) tokens += phrase.size();
    return tokens;
  };
  require_few("suppress_tokens", settings.suppress_tokens.size(), model_settings.suppress_tokens.size());
  require_few("begin_suppress_tokens", settings.begin_suppress_tokens.size(),
              model_settings.begin_suppress_tokens.size());
  require_few("suppress_phrases", tokens_of(settings), tokens_of(model_settings));
  return settings;
}

HttpAnswer handle_translate(Service& service, const HttpRequest& request) {
  const Fields fields(request);
  const ServedPair pair = pair_of(service, fields);
  const std::vector<std::string> texts = fields.required_texts("text", service.options().max_texts);
  TextOptions options;
  read_constraints(fields, texts, options);
  if (const auto id = fields.text("glossary_id"))
    options.translation.glossary =
        service.glossary(request, *id, {.source = pair.source, .target = pair.target});
  if (!fields.boolean("split_sentences").value_or(true)) options.breaks = LineBreaks::lines;
  fields.read(OptionVisitor::AnyOptions(options.translation),
              {{.option = "n_best", .range = between(1, service.options().max_alternatives + 1)},
               {.option = "beam_size", .range = between(1, 32)},
               {.option = "replace_unknown"},
               {.option = "capitals"},
               {.option = "sample"},
               {.option = "temperature"},
               {.option = "top_k"},
               {.option = "top_p"},
               {.option = "min_p"},
               {.option = "seed"},
               {.option = "mbr", .range = between(0, std::max(1, service.options().max_samples))}});
  options.translation.generation = generation_of(fields, pair.model->predictor().generation());
  if (const auto retry = fields.object("retry")) {
    const GenerationConfig first = options.translation.settings(pair.model->predictor().generation());
    retry->read(OptionVisitor::AnyOptions(options.translation.retry.emplace(generation_of(*retry, first))),
                {{.option = "beam_size", .range = between(1, 32)}});
    if (const auto unknown = retry->unread())
      throw HttpError(400, fmt::format("\"{}\" is not a field of \"retry\".", *unknown));
  }
  read_details(fields, texts, service.options().max_observed_tokens, options);
  fields.ignore({"api_key", "auth_key"});
  if (const auto unknown = fields.unread())
    throw HttpError(400, fmt::format("\"{}\" is not a field of /v1/translate.", *unknown));
  options.client = service.client_of(request);
  options.translation.caller = service.scheduling_key(request);
  options.translation.cancel = request.cancel;
  Json results = Json::array();
  for (const TextResult& text : translate(service, pair, texts, options))
    results.push_back(result_json(text, options.translation.details));
  return {.body = json_text({{"model", pair.model->name}, {"results", results}})};
}

}  // namespace

std::vector<Route> translate_routes(Service& service) {
  Service* const s = &service;
  return {{"POST", "/v1/translate",
           [s](const HttpRequest& request, const std::string&) { return handle_translate(*s, request); },
           openai_error_body}};
}

}  // namespace sixfold::serve
