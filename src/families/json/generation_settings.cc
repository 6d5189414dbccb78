#include "families/json/generation_settings.h"

#include <algorithm>
#include <iterator>

namespace sixfold {
namespace {

using nlohmann::json;

/// Settings of speed, of optional outputs, and of the tokens around a text.
constexpr std::string_view settings_without_effect[] = {"_from_model_config",
                                                        "_commit_hash",
                                                        "assistant_confidence_threshold",
                                                        "assistant_early_exit",
                                                        "assistant_ensemble_weight",
                                                        "assistant_lookbehind",
                                                        "bos_token_id",
                                                        "cache_config",
                                                        "cache_implementation",
                                                        "compile_config",
                                                        "continuous_batching_config",
                                                        "decoder_start_token_id",
                                                        "disable_compile",
                                                        "eos_token_id",
                                                        "generation_kwargs",
                                                        "is_assistant",
                                                        "low_memory",
                                                        "max_cache_len",
                                                        "max_matching_ngram_size",
                                                        "num_assistant_tokens",
                                                        "num_assistant_tokens_schedule",
                                                        "output_attentions",
                                                        "output_hidden_states",
                                                        "output_logits",
                                                        "output_scores",
                                                        "pad_token_id",
                                                        "prefill_chunk_size",
                                                        "prompt_lookup_num_tokens",
                                                        "remove_invalid_values",
                                                        "return_dict_in_generate",
                                                        "return_legacy_cache",
                                                        "speculation_type",
                                                        "target_lookbehind",
                                                        "transformers_version",
                                                        "transformers_weights",
                                                        "use_cache",
                                                        "use_mtp"};

/// Throws an input error that names the setting unless its value has the type of `setting`.
void require_type(const JsonKeys& keys, const GenerateSetting& setting) {
  const json &value = keys.at(setting.key),
             &example = setting.example.is_null() ? setting.neutral : setting.example;
  const bool fits =
      example.is_null() || (example.is_number() && value.is_number()) || value.type() == example.type();
  require(fits, "{}: {} is {}, which has the wrong type", keys.path(), setting.key, value.dump());
}

StoppingCriterion stopping_criterion_of(const JsonKeys& keys) {
  if (!keys.has("early_stopping")) return StoppingCriterion::best_is_no_better_now;
  const json& early = keys.at("early_stopping");
  require(early.is_boolean() || early == "never",
          "{}: early_stopping is {}; it must be true, false or \"never\"", keys.path(), early.dump());
  if (early == "never") return StoppingCriterion::best_cannot_improve;
  return early == true ? StoppingCriterion::beam_finished : StoppingCriterion::best_is_no_better_now;
}

}  // namespace

const std::vector<GenerateSetting>& unsupported_settings() {
  static const std::vector<GenerateSetting> settings = {
      {"constraints", nullptr},
      {"diversity_penalty", 0.0},
      {"dola_layers", nullptr},
      {"encoder_no_repeat_ngram_size", 0},
      {"encoder_repetition_penalty", 1.0},
      {"exponential_decay_length_penalty", nullptr, json::array()},
      {"force_bos_token_to_be_generated", false},
      {"force_words_ids", nullptr, json::array()},
      {"forced_decoder_ids", nullptr, json::array()},
      {"guidance_scale", 1.0},
      {"max_time", nullptr, 1.0},
      {"num_beam_groups", 1},
      {"num_return_sequences", 1},
      {"penalty_alpha", nullptr, 1.0},
      {"sequence_bias", nullptr},
      {"stop_strings", nullptr},
      {"token_healing", false},
      {"watermarking_config", nullptr}};
  return settings;
}

const std::vector<GenerateSetting>& sampling_settings() {
  static const std::vector<GenerateSetting> settings = {
      {"epsilon_cutoff", 0.0}, {"eta_cutoff", 0.0}, {"min_p", nullptr, 1.0}, {"temperature", 1.0},
      {"top_h", nullptr, 1.0}, {"top_k", 50},       {"top_p", 1.0},          {"typical_p", 1.0}};
  return settings;
}

std::vector<int64_t> token_list(const JsonKeys& keys, const char* key) {
  std::vector<int64_t> tokens;
  if (!keys.has(key)) return tokens;
  const json& list = keys.at(key);
  require(list.is_array() &&
              std::all_of(list.begin(), list.end(), [](const json& id) { return id.is_number_integer(); }),
          "{}: {} is {}; it must be a list of ids", keys.path(), key, list.dump());
  return list.get<std::vector<int64_t>>();
}

std::vector<std::vector<int>> bad_words(const JsonKeys& keys, const GenerationModel& model) {
  std::vector<std::vector<int>> words;
  if (!keys.has("bad_words_ids")) return words;
  const json& list = keys.at("bad_words_ids");
  require(list.is_array(), "{}: bad_words_ids is {}; it must be a list of words", keys.path(), list.dump());
  for (const json& word : list) {
    const bool ids =
        word.is_array() && !word.empty() && std::all_of(word.begin(), word.end(), [&](const json& id) {
          return id.is_number_integer() && id >= 0 && id < model.target_tokens;
        });
    require(ids, "{}: bad_words_ids has {}; a word is a list of ids from 0 to {}", keys.path(), word.dump(),
            model.target_tokens - 1);
    const auto ids_of_word = word.get<std::vector<int>>();
    const bool is_end = ids_of_word.size() == 1 && (ids_of_word[0] == model.eos ||
                                                    std::ranges::count(model.more_ends, ids_of_word[0]) > 0);
    if (!is_end) words.push_back(ids_of_word);
  }
  return words;
}

std::vector<int> known_tokens(const JsonKeys& keys, const char* key, const GenerationModel& model) {
  std::vector<int> tokens;
  for (const int64_t id : token_list(keys, key))
    if (id >= 0 && id < model.target_tokens) tokens.push_back(static_cast<int>(id));
  return tokens;
}

OtherSettings other_settings(const GenerationSettings& settings, const SettingSupport& support) {
  const JsonKeys& keys = settings.keys();
  OtherSettings found;
  const auto text = [&](const std::string& key) {
    return fmt::format("{} {}", key, keys.at(key.c_str()).dump().substr(0, 60));
  };
  std::vector<std::string_view> known = support.supported;
  known.insert(known.end(), std::begin(settings_without_effect), std::end(settings_without_effect));
  for (const auto* list : {&support.ignored, &support.unsupported})
    for (const GenerateSetting& setting : *list) {
      known.emplace_back(setting.key);
      if (!keys.has(setting.key)) continue;
      require_type(keys, setting);
      if (list == &support.unsupported && keys.at(setting.key) != setting.neutral)
        found.unsupported.push_back(text(setting.key));
    }
  if (settings.has_generation_config())  // config.json has keys of many kinds
    for (const auto& [key, value] : keys.all().items())
      if (std::find(known.begin(), known.end(), key) == known.end() && !value.is_null())
        found.unknown.push_back(text(key));
  return found;
}

GenerationConfig common_rules(const JsonKeys& keys, const GenerationModel& model) {
  GenerationConfig rules;
  rules.normalization = ScoreNormalization::length;
  rules.length_penalty = static_cast<float>(keys.get("length_penalty", 1.0));
  require(rules.length_penalty >= 0, "{}: length_penalty is {}; negative values are not supported", keys.path(),
          rules.length_penalty);
  rules.stopping_criterion = stopping_criterion_of(keys);
  for (const std::vector<int>& word : bad_words(keys, model))
    if (word.size() == 1)
      rules.suppress_tokens.push_back(word[0]);
    else
      rules.suppress_phrases.push_back(word);
  for (const int id : known_tokens(keys, "suppress_tokens", model)) rules.suppress_tokens.push_back(id);
  rules.begin_suppress_tokens = known_tokens(keys, "begin_suppress_tokens", model);
  rules.renormalize_logits = keys.get("renormalize_logits", false);
  rules.allow_unk = true;  // transformers suppresses it only if a setting names it
  rules.no_repeat_ngram = keys.count("no_repeat_ngram_size", 0);
  rules.repetition_penalty = static_cast<float>(keys.get("repetition_penalty", 1.0));
  require(rules.repetition_penalty > 0, "{}: repetition_penalty is {}; it must be above 0", keys.path(),
          rules.repetition_penalty);
  return rules;
}

}  // namespace sixfold
