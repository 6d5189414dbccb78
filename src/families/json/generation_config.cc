#include "families/json/generation_config.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/join.h"
#include "families/json/keys.h"

// The meaning of the settings is defined in transformers' generation/configuration_utils.py, utils.py and
// logits_process.py.

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int default_new_tokens = 20;

/// Settings of speed, of optional outputs, and of the tokens around a text.
constexpr std::string_view without_effect[] = {"_from_model_config",
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

/// A setting, its value without effect, and a value of its type if that one is null. Both null: of any type.
struct Setting {
  const char* key;
  json idle, like = nullptr;
};

/// Settings that no model here has.
const std::vector<Setting>& of_no_model() {
  static const std::vector<Setting> settings = {{"constraints", nullptr},
                                                {"diversity_penalty", 0.0},
                                                {"do_sample", false},
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

/// Settings of sampling, which `do_sample` enables.
const std::vector<Setting>& of_sampling() {
  static const std::vector<Setting> settings = {
      {"epsilon_cutoff", 0.0}, {"eta_cutoff", 0.0}, {"min_p", nullptr, 1.0}, {"temperature", 1.0},
      {"top_h", nullptr, 1.0}, {"top_k", 50},       {"top_p", 1.0},          {"typical_p", 1.0}};
  return settings;
}

/// What a reader of the settings makes of them. All other settings are named in a warning.
struct Reading {
  std::vector<std::string_view> obeyed;
  std::vector<Setting> ignored;  ///< without effect, whatever their value
  std::vector<Setting> named;    ///< in a warning, unless their value is the idle one
};

Reading reading_of_translations() {
  return {.obeyed = {"bad_words_ids", "begin_suppress_tokens", "early_stopping", "forced_bos_token_id",
                     "forced_eos_token_id", "length_penalty", "max_length", "max_new_tokens", "min_length",
                     "min_new_tokens", "no_repeat_ngram_size", "num_beams", "renormalize_logits",
                     "repetition_penalty", "suppress_tokens"},
          .ignored = of_sampling(),
          .named = of_no_model()};
}

/// The lengths of transformers include the prompt, and the size of the beam is an option here.
Reading reading_of_texts() {
  Reading reading{.obeyed = {"bad_words_ids", "early_stopping", "length_penalty", "min_new_tokens",
                             "renormalize_logits", "suppress_tokens"},
                  .ignored = {},
                  .named = of_no_model()};
  reading.named.insert(reading.named.end(), of_sampling().begin(), of_sampling().end());
  reading.named.insert(reading.named.end(), {{"begin_suppress_tokens", json::array()},
                                             {"forced_bos_token_id", nullptr, 0},
                                             {"forced_eos_token_id", nullptr},
                                             {"max_length", 20},
                                             {"max_new_tokens", nullptr, 0},
                                             {"min_length", 0},
                                             {"no_repeat_ngram_size", 0},
                                             {"num_beams", 1},
                                             {"repetition_penalty", 1.0}});
  return reading;
}

/// The settings of a folder, and the files that contain them.
class Settings {
 public:
  explicit Settings(const fs::path& folder)
      : config_(folder / "config.json"), own_file_(fs::exists(folder / "generation_config.json")) {
    if (own_file_) own_.emplace(folder / "generation_config.json");
  }
  const JsonKeys& keys() const { return own_file_ ? *own_ : config_; }
  const JsonKeys& config() const { return config_; }
  bool own_file() const { return own_file_; }

 private:
  JsonKeys config_;
  bool own_file_;
  std::optional<JsonKeys> own_;
};

/// The list of tokens in a setting.
std::vector<int64_t> token_list(const JsonKeys& keys, const char* key) {
  std::vector<int64_t> tokens;
  if (!keys.has(key)) return tokens;
  const json& list = keys.at(key);
  require(list.is_array() &&
              std::all_of(list.begin(), list.end(), [](const json& id) { return id.is_number_integer(); }),
          "{}: {} is {}; it must be a list of ids", keys.path(), key, list.dump());
  return list.get<std::vector<int64_t>>();
}

/// The suppressed words, each as the ids of its tokens. The end token is never suppressed, as in transformers.
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
    if (word != json::array({model.eos})) words.push_back(word.get<std::vector<int>>());
  }
  return words;
}

std::vector<int> suppressed_tokens(const JsonKeys& keys, const GenerationModel& model) {
  std::vector<int> tokens;
  for (const auto& word : bad_words(keys, model))
    if (word.size() == 1) tokens.push_back(word[0]);
  for (const int64_t id : token_list(keys, "suppress_tokens"))
    if (id >= 0 && id < model.target_tokens)
      tokens.push_back(static_cast<int>(id));  // transformers ignores other ids
  return tokens;
}

/// Throws an input error that names the setting unless its value has the type of `setting`.
void require_type(const JsonKeys& keys, const Setting& setting) {
  const json &value = keys.at(setting.key), &like = setting.like.is_null() ? setting.idle : setting.like;
  const bool fits = like.is_null() || (like.is_number() && value.is_number()) || value.type() == like.type();
  require(fits, "{}: {} is {}, which has the wrong type", keys.path(), setting.key, value.dump());
}

/// The settings that are neither obeyed nor without effect, each with its value.
struct OtherSettings {
  std::vector<std::string> known, unknown;
};

OtherSettings other_settings(const Settings& settings, const Reading& reading) {
  const JsonKeys& keys = settings.keys();
  OtherSettings found;
  const auto text = [&](const std::string& key) {
    return fmt::format("{} {}", key, keys.at(key.c_str()).dump().substr(0, 60));
  };
  std::vector<std::string_view> known = reading.obeyed;
  known.insert(known.end(), std::begin(without_effect), std::end(without_effect));
  for (const auto* list : {&reading.ignored, &reading.named})
    for (const Setting& setting : *list) {
      known.emplace_back(setting.key);
      if (!keys.has(setting.key)) continue;
      require_type(keys, setting);
      if (list == &reading.named && keys.at(setting.key) != setting.idle)
        found.known.push_back(text(setting.key));
    }
  if (settings.own_file())  // config.json has keys of many kinds
    for (const auto& [key, value] : keys.all().items())
      if (std::find(known.begin(), known.end(), key) == known.end() && !value.is_null())
        found.unknown.push_back(text(key));
  return found;
}

/// The maximum number of generated tokens, including the end token. `max_length` also includes the start token.
int longest(const Settings& settings, Notes& notes) {
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

StoppingCriterion search_end(const JsonKeys& keys) {
  if (!keys.has("early_stopping")) return StoppingCriterion::best_is_no_better_now;
  const json& early = keys.at("early_stopping");
  require(early.is_boolean() || early == "never",
          "{}: early_stopping is {}; it must be true, false or \"never\"", keys.path(), early.dump());
  if (early == "never") return StoppingCriterion::best_cannot_improve;
  return early == true ? StoppingCriterion::beam_finished : StoppingCriterion::best_is_no_better_now;
}

int decoder_start_token(const Settings& settings) {
  for (const char* key : {"decoder_start_token_id", "pad_token_id"})
    for (const JsonKeys* keys : {&settings.keys(), &settings.config()})
      if (keys->has(key)) return keys->count(key, 0);
  return -1;
}

/// The settings that both kinds of models have.
GenerationConfig common_rules(const JsonKeys& keys, const GenerationModel& model) {
  GenerationConfig rules;
  rules.normalization = ScoreNormalization::length;
  rules.length_penalty = static_cast<float>(keys.get("length_penalty", 1.0));
  require(rules.length_penalty >= 0, "{}: length_penalty is {}; negative values are not supported", keys.path(),
          rules.length_penalty);
  rules.stopping_criterion = search_end(keys);
  rules.suppress_tokens = suppressed_tokens(keys, model);
  rules.renormalize_logits = keys.get("renormalize_logits", false);
  return rules;
}

/// The id in a setting that is a number or a list of numbers: the first. Returns nothing if it is null.
std::optional<int> first_id(const JsonKeys& keys, const char* key, int tokens, Notes& notes) {
  if (!keys.has(key)) return std::nullopt;
  const json& value = keys.at(key);
  const json list = value.is_array() ? value : json::array({value});
  for (const json& id : list) {
    require(id.is_number_integer(), "{}: {} is {}; expected an id or a list of ids", keys.path(), key,
            value.dump());
    require(id >= 0 && id < tokens, "{}: {} has the id {}, but the model has {} tokens", keys.path(), key,
            id.dump(), tokens);
  }
  require(!list.empty(), "{}: {} is empty; expected an id or a list of ids", keys.path(), key);
  if (list.size() > 1)
    notes.warn("{}: {} has {} ids; texts end with the first of them alone, {}", keys.path(), key, list.size(),
               list[0].dump());
  return list[0].get<int>();
}

/// The id of a special token: that of generation_config.json, then that of config.json, then `usual` if
/// config.json does not have the key at all.
std::optional<int> special_id(const Settings& settings, const char* key, int usual, int tokens, Notes& notes) {
  if (const auto own = first_id(settings.keys(), key, tokens, notes)) return own;
  const JsonKeys& config = settings.config();
  if (config.names(key)) return first_id(config, key, tokens, notes);
  require(usual < tokens, "{}: has no {}, and the usual id, {}, is not one of the model's {} tokens",
          config.path(), key, usual, tokens);
  return usual;
}

/// Checks that a setting names the end token of the vocabulary, the only one that is supported.
void check_end(const JsonKeys& keys, const char* key, int eos) {
  if (!keys.has(key)) return;
  const json& end = keys.at(key);
  require(end == eos || end == json::array({eos}), "{}: {} is {}, but </s> of the vocabulary has the id {}",
          keys.path(), key, end.dump(), eos);
}

}  // namespace

ImportedGeneration read_generation_config(const fs::path& folder, const GenerationModel& model, Notes& notes) {
  const Settings settings(folder);
  const JsonKeys& keys = settings.keys();
  const OtherSettings others = other_settings(settings, reading_of_translations());
  require(others.known.empty(),
          "{}: these settings are not supported: {}; without them translations would differ from those of "
          "`generate`. Remove them from the file to import the model so",
          keys.path(), join(others.known, ", "));
  if (!others.unknown.empty())
    notes.warn("{}: these settings are not known, so translations may differ from those of `generate`: {}",
               keys.path(), join(others.unknown, ", "));
  check_end(keys, "eos_token_id", model.eos);
  check_end(keys, "forced_eos_token_id", model.eos);
  GenerationConfig rules = common_rules(keys, model);
  rules.allow_unk = true;  // transformers suppresses it only if a setting names it
  rules.beam_size = keys.count("num_beams", 1);
  rules.length_factor = 0;
  rules.length_offset = longest(settings, notes);
  rules.min_new_tokens = min_new_tokens(keys);
  for (const std::vector<int>& word : bad_words(keys, model))
    if (word.size() > 1) rules.suppress_phrases.push_back(word);
  for (const int64_t id : token_list(keys, "begin_suppress_tokens"))
    if (id >= 0 && id < model.target_tokens) rules.begin_suppress_tokens.push_back(static_cast<int>(id));
  if (keys.has("forced_bos_token_id")) {
    rules.forced_first_token = keys.count("forced_bos_token_id", 0);
    require(rules.forced_first_token < model.target_tokens,
            "{}: forced_bos_token_id is {}, but there are {} tokens", keys.path(), rules.forced_first_token,
            model.target_tokens);
  }
  rules.no_repeat_ngram = keys.count("no_repeat_ngram_size", 0);
  rules.repetition_penalty = static_cast<float>(keys.get("repetition_penalty", 1.0));
  require(rules.repetition_penalty > 0, "{}: repetition_penalty is {}; it must be above 0", keys.path(),
          rules.repetition_penalty);
  rules.at_longest = keys.has("forced_eos_token_id") ? AtLongest::certain_end : AtLongest::cut;
  return {rules, decoder_start_token(settings)};
}

GenerationConfig exported_generation(const ModelConfig& c, int pad, int most) {
  GenerationConfig g = c.generation;
  if (g.normalization == ScoreNormalization::none) g.length_penalty = 0;
  g.normalization = ScoreNormalization::length;
  g.finished_keeps_slot = false;
  g.length_factor = 0;  // it has one limit for all sources, here that of the longest
  g.length_offset = std::min(longest_output(c.generation, longest_exported_source), most);
  g.max_new_tokens = 0;  // it is the limit
  if (g.at_longest == AtLongest::end_symbol) g.at_longest = AtLongest::certain_end;
  g.suppress_tokens.clear();  // the unknown token is in it, unless it is allowed; the end is never suppressed
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

nlohmann::ordered_json generation_json(const ModelConfig& c, int pad) {
  const GenerationConfig& rules = c.generation;
  const auto early_stopping = [&]() -> nlohmann::ordered_json {
    if (rules.stopping_criterion == StoppingCriterion::best_cannot_improve) return "never";
    return rules.stopping_criterion == StoppingCriterion::beam_finished;
  };
  nlohmann::ordered_json json{{"decoder_start_token_id", c.decoder_start_token},
                              {"eos_token_id", c.eos},
                              {"forced_eos_token_id", forced_end(rules, c.eos)},
                              {"pad_token_id", pad},
                              {"num_beams", rules.beam_size},
                              {"early_stopping", early_stopping()},
                              {"max_length", rules.length_offset + 1}};  // with the start token
  for (const int id : rules.suppress_tokens) json["bad_words_ids"].push_back({id});
  if (rules.min_new_tokens > 0) json["min_new_tokens"] = rules.min_new_tokens;
  for (const std::vector<int>& phrase : rules.suppress_phrases) json["bad_words_ids"].push_back(phrase);
  if (!rules.begin_suppress_tokens.empty()) json["begin_suppress_tokens"] = rules.begin_suppress_tokens;
  if (rules.forced_first_token >= 0) json["forced_bos_token_id"] = rules.forced_first_token;
  if (rules.no_repeat_ngram > 0) json["no_repeat_ngram_size"] = rules.no_repeat_ngram;
  if (rules.repetition_penalty != 1) json["repetition_penalty"] = as_written(rules.repetition_penalty);
  if (rules.renormalize_logits) json["renormalize_logits"] = true;
  json["length_penalty"] = as_written(rules.length_penalty);
  return json;
}

SpecialIds read_special_ids(const fs::path& folder, const SpecialIds& usual, int tokens, Notes& notes) {
  const Settings settings(folder);
  const auto eos = special_id(settings, "eos_token_id", usual.eos, tokens, notes),
             bos = special_id(settings, "bos_token_id", usual.bos, tokens, notes);
  require(eos.has_value(),
          "{}: eos_token_id is null; a model without an end token can't be imported: give the id of the token "
          "that ends a text, or of one that is between texts",
          settings.config().path());
  return {.bos = bos.value_or(-1), .eos = *eos};
}

GenerationConfig read_text_generation_config(const fs::path& folder, const GenerationModel& model,
                                             Notes& notes) {
  const Settings settings(folder);
  const JsonKeys& keys = settings.keys();
  OtherSettings others = other_settings(settings, reading_of_texts());
  others.known.insert(others.known.end(), others.unknown.begin(), others.unknown.end());
  const auto words = bad_words(keys, model);
  if (std::any_of(words.begin(), words.end(), [](const auto& word) { return word.size() > 1; }))
    others.known.emplace_back("bad_words_ids (words of several tokens)");
  if (!others.known.empty())
    notes.warn(
        "{}: these settings are not stored with the model: {}; 'sixfold generate' has options for some of them",
        keys.path(), join(others.known, ", "));
  GenerationConfig rules = common_rules(keys, model);
  rules.min_new_tokens = keys.count("min_new_tokens", 0);
  rules.at_longest = AtLongest::cut;
  rules.allow_unk = true;  // transformers suppresses it only if a setting names it
  return rules;
}

}  // namespace sixfold
