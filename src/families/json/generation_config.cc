#include "families/json/generation_config.h"

#include <algorithm>

#include "base/join.h"
#include "families/json/generation_settings.h"

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int default_new_tokens = 20;

SettingSupport translation_setting_support() {
  SettingSupport support{
      .supported = {"bad_words_ids", "begin_suppress_tokens", "early_stopping", "forced_bos_token_id",
                    "forced_eos_token_id", "length_penalty", "max_length", "max_new_tokens", "min_length",
                    "min_new_tokens", "no_repeat_ngram_size", "num_beams", "renormalize_logits",
                    "repetition_penalty", "suppress_tokens"},
      .ignored = sampling_settings(),
      .unsupported = unsupported_settings()};
  support.unsupported.insert(support.unsupported.begin(), GenerateSetting{"do_sample", false});
  return support;
}

/// The maximum number of generated tokens, including the end token. `max_length` also includes the start token.
int max_new_tokens_of(const GenerationSettings& settings, Notes& notes) {
  const JsonKeys& keys = settings.keys();
  if (keys.has("max_new_tokens")) return keys.count("max_new_tokens", 0);
  if (keys.has("max_length")) return std::max(keys.count("max_length", 0) - 1, 1);
  const int longest =
      std::min(default_new_tokens, settings.config().count("max_position_embeddings", 1024) - 1);
  notes.info(
      "{}: neither max_length nor max_new_tokens is set, so translations have at most {} tokens, as in "
      "transformers; for longer ones, increase generation.length_offset in config.json of the new model",
      keys.path(), longest);
  return longest;
}

int min_new_tokens(const JsonKeys& keys) {
  if (keys.has("min_new_tokens")) return keys.count("min_new_tokens", 0);
  return std::max(keys.count("min_length", 0) - 1, 0);
}

int decoder_start_token(const GenerationSettings& settings) {
  for (const char* key : {"decoder_start_token_id", "pad_token_id"})
    for (const JsonKeys* keys : {&settings.keys(), &settings.config()})
      if (keys->has(key)) return keys->count(key, 0);
  return -1;
}

/// Checks that a setting names the end token of the vocabulary, the only one that is supported.
void check_end_token(const JsonKeys& keys, const char* key, int eos) {
  if (!keys.has(key)) return;
  const json& end = keys.at(key);
  require(end == eos || end == json::array({eos}), "{}: {} is {}, but </s> of the vocabulary has the id {}",
          keys.path(), key, end.dump(), eos);
}

}  // namespace

ImportedGeneration read_generation_config(const fs::path& folder, const GenerationModel& model, Notes& notes) {
  const GenerationSettings settings(folder);
  const JsonKeys& keys = settings.keys();
  const OtherSettings other = other_settings(settings, translation_setting_support());
  require(other.unsupported.empty(),
          "{}: these settings are not supported: {}; without them translations would differ from those of "
          "`generate`. Remove them from the file to import the model so",
          keys.path(), join(other.unsupported, ", "));
  if (!other.unknown.empty())
    notes.warn("{}: these settings are not known, so translations may differ from those of `generate`: {}",
               keys.path(), join(other.unknown, ", "));
  check_end_token(keys, "eos_token_id", model.eos);
  check_end_token(keys, "forced_eos_token_id", model.eos);
  GenerationConfig rules = common_rules(keys, model);
  rules.beam_size = keys.count("num_beams", 1);
  rules.length_factor = 0;
  rules.length_offset = max_new_tokens_of(settings, notes);
  rules.min_new_tokens = min_new_tokens(keys);
  if (keys.has("forced_bos_token_id")) {
    rules.forced_first_token = keys.count("forced_bos_token_id", 0);
    require(rules.forced_first_token < model.target_tokens,
            "{}: forced_bos_token_id is {}, but there are {} tokens", keys.path(), rules.forced_first_token,
            model.target_tokens);
  }
  rules.at_longest = keys.has("forced_eos_token_id") ? AtLongest::certain_end : AtLongest::cut;
  return {rules, decoder_start_token(settings)};
}

GenerationConfig exported_generation(const ModelConfig& c, int pad, int max_tokens) {
  GenerationConfig g = c.generation;
  if (g.normalization == ScoreNormalization::none) g.length_penalty = 0;
  g.normalization = ScoreNormalization::length;
  g.finished_keeps_slot = false;
  g.length_factor = 0;  // `generate` has one limit for all sources: that of the longest one
  g.length_offset = std::min(max_output_length(c.generation, max_exported_source), max_tokens);
  g.max_new_tokens = 0;  // the limit is in length_offset
  if (g.at_longest == AtLongest::end_symbol) g.at_longest = AtLongest::certain_end;
  // The list is rebuilt from all tokens that are never generated. The end token is never suppressed.
  g.suppress_tokens.clear();
  if (pad >= 0) g.suppress_tokens.push_back(pad);
  for (const int id : tokens_never_generated(c, c.generation))
    if (id != pad && id != c.eos) g.suppress_tokens.push_back(id);
  g.allow_unk = true;
  g.start_before_text = GenerationConfig().start_before_text;
  g.alignment_layer = GenerationConfig().alignment_layer;
  return g;
}

nlohmann::ordered_json forced_end(const GenerationConfig& rules, int eos) {
  return rules.at_longest == AtLongest::cut ? nlohmann::ordered_json() : nlohmann::ordered_json(eos);
}

nlohmann::ordered_json early_stopping_json(const GenerationConfig& rules) {
  if (rules.stopping_criterion == StoppingCriterion::best_cannot_improve) return "never";
  return rules.stopping_criterion == StoppingCriterion::beam_finished;
}

nlohmann::ordered_json generation_json(const ModelConfig& c, int pad) {
  const GenerationConfig& rules = c.generation;
  nlohmann::ordered_json json{{"decoder_start_token_id", c.decoder_start_token},
                              {"eos_token_id", c.eos},
                              {"forced_eos_token_id", forced_end(rules, c.eos)},
                              {"pad_token_id", pad},
                              {"num_beams", rules.beam_size},
                              {"early_stopping", early_stopping_json(rules)},
                              {"max_length", rules.length_offset + 1}};  // with the start token
  for (const int id : rules.suppress_tokens) json["bad_words_ids"].push_back({id});
  if (rules.min_new_tokens > 0) json["min_new_tokens"] = rules.min_new_tokens;
  for (const std::vector<int>& phrase : rules.suppress_phrases) json["bad_words_ids"].push_back(phrase);
  if (!rules.begin_suppress_tokens.empty()) json["begin_suppress_tokens"] = rules.begin_suppress_tokens;
  if (rules.forced_first_token >= 0) json["forced_bos_token_id"] = rules.forced_first_token;
  if (rules.no_repeat_ngram > 0) json["no_repeat_ngram_size"] = rules.no_repeat_ngram;
  if (rules.repetition_penalty != 1) json["repetition_penalty"] = shortest_decimal(rules.repetition_penalty);
  if (rules.renormalize_logits) json["renormalize_logits"] = true;
  json["length_penalty"] = shortest_decimal(rules.length_penalty);
  return json;
}

}  // namespace sixfold
