#include "train/resume.h"

#include <gtest/gtest.h>

#include <set>

#include "error_message.h"
#include "tasks/translation/task.h"

namespace sixfold {
namespace {

/// Every key of a config, with another value than its default.
std::vector<std::pair<std::string, std::string>> other_values() {
  return {{"data.languages", "[en-de]"},
          {"data.temperature", "2"},
          {"teacher.model", "big/model"},
          {"teacher.weight", "2"},
          {"teacher.temperature", "3"},
          {"start.lora_rank", "4"},
          {"start.lora_alpha", "8"},
          {"start.lora_projections", "[q_proj]"},
          {"start.lora_merge", "false"},
          {"model.preset", "tiny"},
          {"model.d_model", "256"},
          {"model.heads", "4"},
          {"model.decoder_heads", "2"},
          {"model.decoder_d_ff", "512"},
          {"model.d_k", "32"},
          {"model.d_v", "32"},
          {"model.d_ff", "1024"},
          {"model.encoder_layers", "2"},
          {"model.decoder_layers", "2"},
          {"model.tied_embeddings", "none"},
          {"model.activation", "gelu"},
          {"model.positions", "learned"},
          {"model.kv_heads", "2"},
          {"model.attention_bias", "false"},
          {"model.query_key_norm", "true"},
          {"model.parallel_residual", "true"},
          {"model.separate_positions", "true"},
          {"model.position_offset", "2"},
          {"model.rotary_features", "4"},
          {"model.rotary_scaling.kind", "yarn"},
          {"model.rotary_scaling.factor", "2"},
          {"model.rotary_scaling.original_context", "64"},
          {"model.rotary_scaling.low", "2"},
          {"model.rotary_scaling.high", "8"},
          {"model.rotary_scaling.whole_features", "false"},
          {"model.rotary_scaling.magnitude", "1.1"},
          {"model.rotary_scaling.factors", "[2, 3]"},
          {"model.token_types", "2"},
          {"model.output_scale", "0.5"},
          {"model.attention_score", "dot"},
          {"model.encoder_mixer", "lstm"},
          {"model.decoder_mixer", "gru"},
          {"model.attention_window", "9"},
          {"model.kernel_size", "5"},
          {"model.feed_forward_gate", "true"},
          {"model.feed_forward_bias", "false"},
          {"model.norm", "rms"},
          {"model.beyond_positions", "error"},
          {"model.position_buckets", "8"},
          {"model.position_distance", "9"},
          {"model.max_positions", "99"},
          {"model.rotary_base", "500000"},
          {"model.postprocess_embedding", "norm"},
          {"model.preprocess", "norm"},
          {"model.postprocess", "dropout,add"},
          {"model.postprocess_top", "norm"},
          {"model.norm_epsilon", "1e-6"},
          {"model.batch_norm_momentum", "0.2"},
          {"model.embedding_scale", "false"},
          {"model.output_bias", "true"},
          {"model.dropout", "0.3"},
          {"model.attention_dropout", "0.3"},
          {"model.activation_dropout", "0.3"},
          {"generation.beam_size", "9"},
          {"generation.normalization", "none"},
          {"generation.length_penalty", "1"},
          {"generation.stopping_criterion", "beam_finished"},
          {"generation.finished_keeps_slot", "true"},
          {"generation.length_factor", "3"},
          {"generation.length_offset", "3"},
          {"generation.at_longest", "cut"},
          {"generation.alignment_layer", "0"},
          {"generation.suppress_tokens", "7"},
          {"generation.allow_unk", "true"},
          {"generation.max_new_tokens", "9"},
          {"generation.min_new_tokens", "3"},
          {"generation.word_penalty", "0.5"},
          {"generation.coverage_penalty", "0.5"},
          {"generation.repetition_penalty", "1.2"},
          {"generation.no_repeat_ngram", "3"},
          {"generation.begin_suppress_tokens", "8"},
          {"generation.suppress_phrases", "[[5, 6]]"},
          {"generation.forced_first_token", "5"},
          {"generation.renormalize_logits", "true"},
          {"generation.start_before_text", "false"},
          {"model.decoder_start_token", "1"},
          {"start.model", "a/model"},
          {"start.freeze", "encoder"},
          {"tokenizer.kind", "whitespace"},
          {"tokenizer.joint", "false"},
          {"tokenizer.model", "bpe"},
          {"tokenizer.vocab_size", "99"},
          {"tokenizer.minimum_count", "2"},
          {"tokenizer.lower_case", "true"},
          {"tokenizer.character_coverage", "0.99"},
          {"tokenizer.normalization", "nfkc"},
          {"tokenizer.target_normalization", "nfkc"},
          {"tokenizer.user_defined_symbols", "<x>"},
          {"tokenizer.byte_fallback", "true"},
          {"tokenizer.max_sentences", "9"},
          {"tokenizer.source", "a.spm"},
          {"tokenizer.target", "a.spm"},
          {"data.train", "x.en,x.de"},
          {"data.valid", "x.en,x.de"},
          {"data.test", "x.en,x.de"},
          {"data.weights", "2"},
          {"data.pair_weights", "x.weights"},
          {"data.alignments", "x.alignment"},
          {"data.invalid_utf8", "skip"},
          {"data.max_length", "5"},
          {"data.max_ratio", "5"},
          {"data.repeats", "drop"},
          {"data.allow_unknown", "true"},
          {"data.shortlist", "true"},
          {"data.token_dropout", "0.1"},
          {"data.subword_sampling", "0.1"},
          {"data.capitals", "0.1"},
          {"data.noise", "0.1"},
          {"data.source_language", "en"},
          {"data.target_language", "de"},
          {"data.batch_tokens", "99"},
          {"data.micro_batch_tokens", "99"},
          {"data.shuffle", "false"},
          {"train.updates", "7"},
          {"train.epochs", "7"},
          {"train.minutes", "7"},
          {"train.seed", "7"},
          {"train.label_smoothing", "0.3"},
          {"train.r_drop", "3"},
          {"train.layer_drop", "0.3"},
          {"train.alignment_weight", "0.2"},
          {"train.clip_norm", "3"},
          {"train.accumulate", "3"},
          {"train.shards", "3"},
          {"train.ema_decay", "0.3"},
          {"train.average_last", "3"},
          {"train.on_spike", "stop"},
          {"train.spike_factor", "9"},
          {"train.precision", "fp32"},
          {"train.threads", "3"},
          {"optimizer.kind", "adafactor"},
          {"optimizer.beta1", "0.5"},
          {"optimizer.beta2", "0.5"},
          {"optimizer.epsilon", "1e-8"},
          {"optimizer.weight_decay", "0.1"},
          {"optimizer.momentum", "0.5"},
          {"optimizer.nesterov", "true"},
          {"optimizer.decay_rate", "0.5"},
          {"optimizer.clip_threshold", "0.5"},
          {"optimizer.scale_parameter", "true"},
          {"schedule.kind", "noam"},
          {"schedule.warmup", "9"},
          {"schedule.factor", "9"},
          {"schedule.learning_rate", "0.1"},
          {"schedule.first_rate", "0.1"},
          {"schedule.min_rate", "0.1"},
          {"schedule.power", "2"},
          {"schedule.decay", "9"},
          {"schedule.plateau_factor", "0.5"},
          {"schedule.plateau_patience", "9"},
          {"checkpoint.every_updates", "9"},
          {"checkpoint.every_minutes", "9"},
          {"checkpoint.keep_last", "9"},
          {"checkpoint.keep_best", "false"},
          {"validation.every_updates", "9"},
          {"validation.every_epochs", "9"},
          {"validation.metrics", "loss,bleu"},
          {"validation.best_by", "perplexity"},
          {"validation.patience", "9"},
          {"validation.beam_size", "9"},
          {"validation.lowercase", "true"},
          {"validation.bleu.tokenize", "zh"},
          {"validation.bleu.spm_model", "a.spm"},
          {"validation.bleu.smooth_method", "floor"},
          {"validation.bleu.smooth_value", "2"},
          {"validation.bleu.max_ngram_order", "2"},
          {"validation.bleu.effective_order", "true"},
          {"validation.chrf.char_order", "2"},
          {"validation.chrf.word_order", "2"},
          {"validation.chrf.beta", "3"},
          {"validation.chrf.whitespace", "true"},
          {"validation.chrf.eps_smoothing", "true"},
          {"validation.ter.normalized", "true"},
          {"validation.ter.no_punct", "true"},
          {"validation.ter.asian_support", "true"},
          {"validation.ter.case_sensitive", "true"},
          {"validation.metric_command", "true"},
          {"validation.metric_timeout", "9"},
          {"validation.max_sentences", "9"},
          {"log.every_updates", "9"},
          {"distributed.timeout", "9"},
          {"distributed.wire", "bf16"}};
}

void collect_keys(const OptionNode& node, const std::string& prefix, std::set<std::string>& keys) {
  for (const auto& [name, child] : node.children) {
    const std::string key = prefix.empty() ? name : prefix + "." + name;
    if (child.kind == OptionNode::Kind::map)
      collect_keys(child, key, keys);
    else
      keys.insert(key);
  }
}

TranslationOptions with(const std::string& key, const std::string& value) {
  OptionNode root = parse_yaml_options("{}", "test");
  set_option(root, key + "=" + value);
  TranslationOptions options;
  read_options(root, options);
  return options;
}

TranslationConfig any_config() {
  TranslationOptions options;
  options.data.train = {"a.tsv"};
  options.train.updates = 1;
  return TranslationConfig(options);
}

/// What `changed_options` finds, and says of start.model.
std::vector<TrainingChange> changes_of(const TranslationOptions& began, const TranslationOptions& now,
                                       int64_t update, std::string* start_model = nullptr) {
  OptionNode tree = write_options(now);
  const auto changes = changed_options(any_config(), write_options(began), tree, update);
  if (start_model) *start_model = tree.find("start")->find("model")->text;
  return changes;
}

/// Each key either takes effect, and the change is recorded, or is refused by its name, or has no part in what
/// is computed. A new key of the config fails here until somebody has decided.
TEST(Resume, EveryKeyIsDecided) {
  std::set<std::string> keys, tried;
  collect_keys(write_options(TranslationOptions{}), "", keys);
  for (const auto& [key, value] : other_values()) {
    SCOPED_TRACE(key);
    tried.insert(key);
    const TranslationOptions began;
    TranslationOptions now = with(key, value);
    if (key == "model.preset") {
      now = began;
      now.model = ModelOptions(Preset::tiny);
      static_cast<Architecture&>(now.model) = began.model;  // the name alone differs
    }
    const OnResume decided = on_resume(any_config(), key);
    if (decided == OnResume::takes_effect) {
      const auto changes = changes_of(began, now, 12);
      ASSERT_EQ(changes.size(), 1u);
      EXPECT_EQ(changes[0].what, key);
      EXPECT_EQ(changes[0].update, 12);
      EXPECT_NE(changes[0].from, changes[0].to);
    } else if (decided == OnResume::refused) {
      EXPECT_NE(error_message([&] { changes_of(began, now, 12); }).find(key + " (it was "), std::string::npos);
    } else if (decided == OnResume::ignored) {
      EXPECT_TRUE(changes_of(began, now, 12).empty());
    } else {  // none before, one now
      EXPECT_NE(error_message([&] { changes_of(began, now, 12); }).find(key + " (it was not set"),
                std::string::npos);
    }
  }
  EXPECT_EQ(tried, keys);
}

/// No number of shards is the number that there was.
TEST(Resume, ShardsThatAreNotSetStay) {
  TranslationOptions began;
  began.train.shards = 4;
  EXPECT_TRUE(changes_of(began, TranslationOptions{}, 12).empty());
  EXPECT_EQ(changes_of(TranslationOptions{}, began, 12).size(), 1u);
}

/// A task decides of its own keys alone.
TEST(Resume, TheTrainerDecidesOfItsKeys) {
  class Undecided : public TranslationConfig {
   public:
    using TranslationConfig::TranslationConfig;
    OnResume on_resume(std::string_view key) const override { throw_input_error("asked for {}", key); }
  };
  TranslationOptions options;
  options.data.train = {"a.tsv"};
  options.train.updates = 1;
  const Undecided config(options);
  std::set<std::string> keys;
  collect_keys(write_options(TrainOptions{}), "", keys);
  EXPECT_GT(keys.size(), 30u);
  for (const std::string& key : keys) EXPECT_NO_THROW(on_resume(config, key)) << key;
  EXPECT_EQ(on_resume(config, "train.seed"), OnResume::refused);
}

TEST(Resume, NamesOfFilesMayChangeButNotWhetherThereAreAny) {
  TranslationOptions began;
  began.data.train = {"a.en", "a.de"};
  began.data.valid = {"v.en", "v.de"};
  began.start.model = "somewhere/model";
  TranslationOptions now = began;
  now.data.train = {"./a.en", "./a.de"};
  now.data.valid = {"../x/v.en", "../x/v.de"};
  now.start.model = "elsewhere/model";
  now.train.threads = 7;
  std::string start_model;
  EXPECT_TRUE(changes_of(began, now, 1, &start_model).empty());
  EXPECT_EQ(start_model, "somewhere/model");  // where the weights came from, which stays true
  now.start.lora_merge = began.start.lora_merge = false;
  EXPECT_TRUE(changes_of(began, now, 1, &start_model).empty());
  EXPECT_EQ(start_model, "elsewhere/model");  // which the end of the training opens
  now.start.lora_merge = began.start.lora_merge = true;
  now.data.valid = {};
  EXPECT_NE(error_message([&] { changes_of(began, now, 1); }).find("data.valid"), std::string::npos);
  now = began;
  now.start.model = "";
  EXPECT_NE(error_message([&] { changes_of(began, now, 1); }).find("start.model"), std::string::npos);
}

TEST(Resume, AllKeysThatCannotChangeAreNamedAtOnce) {
  TranslationOptions now;
  now.data.max_length = 5;
  now.train.seed = 9;
  const std::string message = error_message([&] { changes_of({}, now, 1); });
  EXPECT_NE(message.find("data.max_length (it was 256, and is 5 now)"), std::string::npos) << message;
  EXPECT_NE(message.find("train.seed (it was 1, and is 9 now)"), std::string::npos) << message;
}

TEST(Resume, NamesOfModelsAndFilesAreAbsolute) {
  TranslationOptions options;
  options.data.train = {"a.en", "a.de"};
  options.train.updates = 1;
  options.teacher.model = "teacher";
  const TranslationConfig config(options);
  const OptionNode found = run_options(config);
  EXPECT_TRUE(found.find_path("teacher.model")->text.starts_with('/'));
  EXPECT_TRUE(found.find_path("data.train")->children[1].second.text.starts_with('/'));
  EXPECT_EQ(on_resume(config, "validation.bleu.spm_model"), OnResume::input_file);
}

}  // namespace
}  // namespace sixfold
