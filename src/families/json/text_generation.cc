#include "families/json/text_generation.h"

#include <algorithm>
#include <optional>

#include "base/join.h"
#include "families/json/generation_settings.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json, nlohmann::ordered_json;

/// The default of `generate` for `top_k`.
constexpr int default_top_k = 50;

SettingSupport text_setting_support(bool samples) {
  SettingSupport support{
      .supported = {"bad_words_ids", "begin_suppress_tokens", "do_sample", "early_stopping", "length_penalty",
                    "max_length", "max_new_tokens", "min_new_tokens", "no_repeat_ngram_size", "num_beams",
                    "renormalize_logits", "repetition_penalty", "suppress_tokens"},
      .ignored = {},
      .unsupported = unsupported_settings()};
  support.unsupported.insert(
      support.unsupported.end(),
      {{"forced_bos_token_id", nullptr, 0}, {"forced_eos_token_id", nullptr}, {"min_length", 0}});
  for (const GenerateSetting& setting : sampling_settings()) {
    const bool supported = setting.key == std::string_view("temperature") ||
                           setting.key == std::string_view("top_k") ||
                           setting.key == std::string_view("top_p") || setting.key == std::string_view("min_p");
    if (samples && supported)
      support.supported.emplace_back(setting.key);
    else
      (samples ? support.unsupported : support.ignored).push_back(setting);
  }
  return support;
}

/// A number within a range, or `default_value` if it is not given.
float number_in(const JsonKeys& keys, const char* key, double default_value, const Range& range) {
  const double number = keys.get(key, default_value);
  require(range.contains(number), "{}: {} is {}; it must be {}", keys.path(), key, number, range.describe());
  return static_cast<float>(number);
}

DrawOptions draw_options(const JsonKeys& keys, bool samples) {
  constexpr double max_value = 1e6;
  DrawOptions draw{.repetition_penalty = number_in(keys, "repetition_penalty", 1,
                                                   {.low = 0, .high = max_value, .excludes_low = true}),
                   .temperature = 0};
  if (!samples) return draw;
  draw.temperature = number_in(keys, "temperature", 1, {.low = 0, .high = max_value, .excludes_low = true});
  draw.top_k = keys.count("top_k", default_top_k);
  draw.top_p = number_in(keys, "top_p", 1, {.low = 0, .high = 1, .excludes_low = true});
  draw.min_p = number_in(keys, "min_p", 0, from_to_below(0, 1));
  return draw;
}

/// The ids in a setting that is a number or a list of numbers; none if it is null.
std::vector<int> ids_in(const JsonKeys& keys, const char* key, int tokens) {
  if (!keys.has(key)) return {};
  const json& value = keys.at(key);
  const json list = value.is_array() ? value : json::array({value});
  std::vector<int> ids;
  for (const json& id : list) {
    require(id.is_number_integer(), "{}: {} is {}; expected an id or a list of ids", keys.path(), key,
            value.dump());
    require(id >= 0 && id < tokens, "{}: {} has the id {}, but the model has {} tokens", keys.path(), key,
            id.dump(), tokens);
    if (std::ranges::count(ids, id.get<int>()) == 0) ids.push_back(id.get<int>());
  }
  require(!list.empty(), "{}: {} is empty; expected an id or a list of ids", keys.path(), key);
  return ids;
}

/// The ids of a special token: those of generation_config.json, then those of config.json, then `default_value`
/// if config.json does not have the key at all.
std::vector<int> special_ids(const GenerationSettings& settings, const char* key, int default_value,
                             int tokens) {
  if (auto own = ids_in(settings.keys(), key, tokens); !own.empty()) return own;
  const JsonKeys& config = settings.config();
  if (config.names(key)) return ids_in(config, key, tokens);
  require(default_value < tokens, "{}: has no {}, and the default id, {}, is not one of the model's {} tokens",
          config.path(), key, default_value, tokens);
  return default_value < 0 ? std::vector<int>() : std::vector{default_value};
}

}  // namespace

SpecialIds read_special_ids(const fs::path& folder, const SpecialIds& defaults, int tokens) {
  const GenerationSettings settings(folder);
  const std::vector<int> ends = special_ids(settings, "eos_token_id", defaults.eos, tokens),
                         starts = special_ids(settings, "bos_token_id", defaults.bos, tokens);
  require(!ends.empty(),
          "{}: eos_token_id is null; a model without an end token can't be imported: give the id of the token "
          "that ends a text, or of one that is between texts",
          settings.config().path());
  require(starts.size() <= 1, "{}: bos_token_id has {} ids; a text begins with one token",
          settings.config().path(), starts.size());
  return {.bos = starts.empty() ? -1 : starts[0], .eos = ends[0], .more_ends = {ends.begin() + 1, ends.end()}};
}

TextGeneration read_text_generation_config(const fs::path& folder, const GenerationModel& model, Notes& notes) {
  const GenerationSettings folder_settings(folder);
  const JsonKeys& keys = folder_settings.keys();
  const bool samples = keys.get("do_sample", false);
  const OtherSettings other = other_settings(folder_settings, text_setting_support(samples));
  require(other.unsupported.empty(),
          "{}: these settings are not supported: {}; without them texts would differ from those of `generate`. "
          "Remove them from the file to import the model so",
          keys.path(), join(other.unsupported, ", "));
  if (!other.unknown.empty())
    notes.warn("{}: these settings are not known, so texts may differ from those of `generate`: {}",
               keys.path(), join(other.unknown, ", "));
  TextGeneration result{.generation = common_rules(keys, model), .settings = {}};
  GenerationConfig& rules = result.generation;
  LanguageModelSettings& settings = result.settings;
  settings.draw = draw_options(keys, samples);
  rules.at_longest = AtLongest::cut;
  rules.min_new_tokens = keys.count("min_new_tokens", 0);
  if (keys.has("max_new_tokens"))
    rules.max_new_tokens = keys.positive("max_new_tokens", 1);
  else if (keys.has("max_length"))
    settings.max_length = keys.positive("max_length", 1);
  const int beams = keys.positive("num_beams", 1);
  require(!samples || beams == 1, "{}: do_sample is true and num_beams is {}; only one of them is supported",
          keys.path(), beams);
  if (beams > 1) settings.beam_size = beams;
  return result;
}

TextGeneration exported_text_generation(const ModelConfig& c) {
  auto own = settings_of<LanguageModelSettings>(c);
  own.draw = stored_draw(c);
  TextGeneration result{.generation = {.normalization = ScoreNormalization::length,
                                       .length_penalty = 1,
                                       .stopping_criterion = StoppingCriterion::best_is_no_better_now,
                                       .at_longest = AtLongest::cut,
                                       .max_new_tokens = c.generation.max_new_tokens,
                                       .min_new_tokens = c.generation.min_new_tokens,
                                       .repetition_penalty = own.draw.repetition_penalty,
                                       .no_repeat_ngram = c.generation.no_repeat_ngram,
                                       .suppress_tokens = tokens_never_generated(c, c.generation),
                                       .begin_suppress_tokens = c.generation.begin_suppress_tokens,
                                       .suppress_phrases = c.generation.suppress_phrases,
                                       .allow_unk = true,
                                       .start_before_text = c.generation.start_before_text},
                        .settings = own};
  GenerationConfig& rules = result.generation;
  std::ranges::sort(rules.suppress_tokens);
  rules.suppress_tokens.erase(std::unique(rules.suppress_tokens.begin(), rules.suppress_tokens.end()),
                              rules.suppress_tokens.end());
  LanguageModelSettings& settings = result.settings;
  settings.text_unit = TextUnit::file;
  if (rules.max_new_tokens > 0) settings.max_length = 0;
  if (settings.beam_size == 1) settings.beam_size = 0, settings.draw.temperature = 0;  // greedy search
  if (settings.beam_size > 0) {
    rules.length_penalty =
        c.generation.normalization == ScoreNormalization::none ? 0 : c.generation.length_penalty;
    rules.stopping_criterion = c.generation.stopping_criterion;
    rules.renormalize_logits = c.generation.renormalize_logits;
    settings.draw.temperature = 0;
  }
  if (settings.draw.temperature == 0) settings.draw = {.temperature = 0};
  settings.draw.repetition_penalty = rules.repetition_penalty;
  return result;
}

ordered_json end_tokens_json(const ModelConfig& c) {
  const std::vector<int> more = settings_of<LanguageModelSettings>(c).more_ends;
  if (more.empty()) return c.eos;
  ordered_json ends = ordered_json::array({c.eos});
  for (const int id : more) ends.push_back(id);
  return ends;
}

ordered_json text_generation_json(const ModelConfig& c) {
  const GenerationConfig& rules = c.generation;
  const auto settings = settings_of<LanguageModelSettings>(c);
  const DrawOptions& draw = settings.draw;
  ordered_json json{{"bos_token_id", c.decoder_start_token}, {"eos_token_id", end_tokens_json(c)}};
  json["do_sample"] = draw.temperature > 0;
  if (draw.temperature > 0) {
    json["temperature"] = shortest_decimal(draw.temperature);
    json["top_k"] = draw.top_k;
    json["top_p"] = shortest_decimal(draw.top_p);
    if (draw.min_p > 0) json["min_p"] = shortest_decimal(draw.min_p);
  }
  if (settings.beam_size > 0) {
    json["num_beams"] = settings.beam_size;
    json["length_penalty"] = shortest_decimal(rules.length_penalty);
    json["early_stopping"] = early_stopping_json(rules);
    if (rules.renormalize_logits) json["renormalize_logits"] = true;
  }
  for (const std::vector<int>& phrase : rules.suppress_phrases) json["bad_words_ids"].push_back(phrase);
  if (!rules.suppress_tokens.empty()) json["suppress_tokens"] = rules.suppress_tokens;
  if (!rules.begin_suppress_tokens.empty()) json["begin_suppress_tokens"] = rules.begin_suppress_tokens;
  if (rules.repetition_penalty != 1) json["repetition_penalty"] = shortest_decimal(rules.repetition_penalty);
  if (rules.no_repeat_ngram > 0) json["no_repeat_ngram_size"] = rules.no_repeat_ngram;
  if (rules.max_new_tokens > 0) json["max_new_tokens"] = rules.max_new_tokens;
  if (settings.max_length > 0) json["max_length"] = settings.max_length;
  if (rules.min_new_tokens > 0) json["min_new_tokens"] = rules.min_new_tokens;
  return json;
}

}  // namespace sixfold
