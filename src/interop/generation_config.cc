#include "interop/generation_config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/join.h"
#include "base/log.h"
#include "interop/json/keys.h"

// The meaning of the settings is defined in transformers' generation/configuration_utils.py, utils.py and
// logits_process.py.

namespace sixfold {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int default_new_tokens = 20;

constexpr std::array<std::string_view, 14> obeyed = {
    "bad_words_ids",       "decoder_start_token_id", "early_stopping", "eos_token_id",
    "forced_eos_token_id", "length_penalty",         "max_length",     "max_new_tokens",
    "min_length",          "min_new_tokens",         "num_beams",      "pad_token_id",
    "renormalize_logits",  "suppress_tokens"};

/// Settings of sampling (which `do_sample` enables), of speed, and of optional outputs.
constexpr std::array<std::string_view, 42> without_effect = {"_from_model_config",
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
                                                             "disable_compile",
                                                             "epsilon_cutoff",
                                                             "eta_cutoff",
                                                             "generation_kwargs",
                                                             "is_assistant",
                                                             "low_memory",
                                                             "max_cache_len",
                                                             "max_matching_ngram_size",
                                                             "min_p",
                                                             "num_assistant_tokens",
                                                             "num_assistant_tokens_schedule",
                                                             "output_attentions",
                                                             "output_hidden_states",
                                                             "output_logits",
                                                             "output_scores",
                                                             "prefill_chunk_size",
                                                             "prompt_lookup_num_tokens",
                                                             "remove_invalid_values",
                                                             "return_dict_in_generate",
                                                             "return_legacy_cache",
                                                             "speculation_type",
                                                             "target_lookbehind",
                                                             "temperature",
                                                             "top_h",
                                                             "top_k",
                                                             "top_p",
                                                             "transformers_version",
                                                             "transformers_weights",
                                                             "typical_p",
                                                             "use_cache",
                                                             "use_mtp"};

/// A setting that is not supported, and its value without effect on translations.
struct Unknown {
  const char* key;
  json idle;
};

const std::vector<Unknown>& unknown_settings() {
  static const std::vector<Unknown> settings = {{"begin_suppress_tokens", json::array()},
                                                {"constraints", nullptr},
                                                {"diversity_penalty", 0.0},
                                                {"do_sample", false},
                                                {"dola_layers", nullptr},
                                                {"encoder_no_repeat_ngram_size", 0},
                                                {"encoder_repetition_penalty", 1.0},
                                                {"exponential_decay_length_penalty", nullptr},
                                                {"force_bos_token_to_be_generated", false},
                                                {"force_words_ids", nullptr},
                                                {"forced_bos_token_id", nullptr},
                                                {"forced_decoder_ids", nullptr},
                                                {"guidance_scale", 1.0},
                                                {"max_time", nullptr},
                                                {"no_repeat_ngram_size", 0},
                                                {"num_beam_groups", 1},
                                                {"num_return_sequences", 1},
                                                {"penalty_alpha", nullptr},
                                                {"repetition_penalty", 1.0},
                                                {"sequence_bias", nullptr},
                                                {"stop_strings", nullptr},
                                                {"token_healing", false},
                                                {"watermarking_config", nullptr}};
  return settings;
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

/// The names of the settings that are not supported.
std::vector<std::string> names_of_unknown(const Settings& settings, const GenerationModel& model) {
  const JsonKeys& keys = settings.keys();
  std::vector<std::string> names;
  for (const auto& [key, idle] : unknown_settings())
    if (keys.has(key) && keys.at(key) != idle) names.emplace_back(key);
  const auto words = bad_words(keys, model);
  if (std::any_of(words.begin(), words.end(), [](const auto& word) { return word.size() > 1; }))
    names.emplace_back("bad_words_ids (words of several tokens)");
  if (settings.own_file())  // config.json has keys of many kinds
    for (const auto& [key, value] : keys.all().items()) {
      const auto is = [&key = key](const auto& other) { return key == other; };
      const bool known = std::any_of(obeyed.begin(), obeyed.end(), is) ||
                         std::any_of(without_effect.begin(), without_effect.end(), is) ||
                         std::any_of(unknown_settings().begin(), unknown_settings().end(),
                                     [&key = key](const Unknown& setting) { return key == setting.key; });
      if (!known && !value.is_null()) names.push_back(key);
    }
  return names;
}

/// The maximum number of generated tokens, including the end token. `max_length` also includes the start token.
int longest(const Settings& settings) {
  const JsonKeys& keys = settings.keys();
  if (keys.has("max_new_tokens")) return keys.count("max_new_tokens", 0);
  if (keys.has("max_length")) return std::max(keys.count("max_length", 0) - 1, 1);
  const int longest =
      std::min(default_new_tokens, settings.config().count("max_position_embeddings", 1024) - 1);
  log_info(
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

/// Checks that a setting names the end token of the vocabulary, the only one that is supported.
void check_end(const JsonKeys& keys, const char* key, int eos) {
  if (!keys.has(key)) return;
  const json& end = keys.at(key);
  require(end == eos || end == json::array({eos}), "{}: {} is {}, but </s> of the vocabulary has the id {}",
          keys.path(), key, end.dump(), eos);
}

}  // namespace

ImportedGeneration read_generation_config(const fs::path& folder, const GenerationModel& model) {
  const Settings settings(folder);
  const JsonKeys& keys = settings.keys();
  if (const auto names = names_of_unknown(settings, model); !names.empty())
    log_warning("{}: these settings are not supported, so translations may differ from those of `generate`: {}",
                keys.path(), join(names, ", "));
  check_end(keys, "eos_token_id", model.eos);
  check_end(keys, "forced_eos_token_id", model.eos);
  GenerationConfig rules;
  rules.beam_size = keys.count("num_beams", 1);
  rules.normalization = ScoreNormalization::length;
  rules.length_penalty = static_cast<float>(keys.get("length_penalty", 1.0));
  require(rules.length_penalty >= 0, "{}: length_penalty is {}; negative values are not supported", keys.path(),
          rules.length_penalty);
  rules.stopping_criterion = search_end(keys);
  rules.length_factor = 0;
  rules.length_offset = longest(settings);
  rules.min_new_tokens = min_new_tokens(keys);
  rules.at_longest = keys.has("forced_eos_token_id") ? AtLongest::certain_end : AtLongest::cut;
  rules.suppress_tokens = suppressed_tokens(keys, model);
  rules.renormalize_logits = keys.get("renormalize_logits", false);
  return {rules, decoder_start_token(settings)};
}

}  // namespace sixfold
