#include "tasks/translation/config.h"

#include <algorithm>

#include "base/error.h"
#include "base/language_code.h"
#include "base/log.h"
#include "model_folder/config_file.h"
#include "tasks/translation/data.h"
#include "text/subword_sampler.h"

namespace sixfold {

bool upgrade_translation_options(OptionNode& root) {
  OptionNode* model = root.find("model");
  if (!model || !(model->find("search") || model->find("top_steps") || model->find("embedding_steps")))
    return false;
  OptionNode upgraded = std::move(*model);  // adding to the root may move its children in memory
  upgrade_architecture(upgraded, root);
  *root.find("model") = std::move(upgraded);
  return true;
}

TranslationOptions read_translation_options(const std::string& path,
                                            const std::vector<std::string>& assignments) {
  OptionNode root = read_option_file(path);
  for (const std::string& assignment : assignments) set_option(root, assignment);
  return translation_options_of(std::move(root), path);
}

TranslationOptions translation_options_of(OptionNode root, const std::string& where) {
  if (upgrade_translation_options(root))
    log_warning(
        "{}: uses option names of version 0.1.0, which are still accepted; `sixfold train --options` lists the "
        "current ones",
        where);
  TranslationOptions options;
  read_options(root, options);
  validate_at(options, where);
  return options;
}

std::span<const SizeChoice> TranslationOptions::sizes() {
  constexpr std::string_view
      narrow = "model.d_model=128 model.heads=4 model.d_ff=512",
      one_layer = "model.encoder_layers=1 model.decoder_layers=1",
      two_layers = "model.encoder_layers=2 model.decoder_layers=2",
      few_tokens = "tokenizer.source teacher.model tokenizer.kind=sentencepiece tokenizer.vocab_size=2000",
      tokens = "tokenizer.source teacher.model tokenizer.kind=sentencepiece tokenizer.vocab_size=4000",
      batch = "data.batch_tokens=1024",
      rate = "optimizer.kind?=adam schedule.kind=cosine schedule.learning_rate=3e-3",
      small = "model.d_model=256 model.heads=4 model.d_ff=1024 model.encoder_layers=3 model.decoder_layers=3",
      rotary =
          "model.encoder_mixer?=attention model.decoder_mixer?=attention "
          "model.attention_score?=scaled_dot model.d_k?=0 model.positions=rotary",
      attention_dropout =
          "model.encoder_mixer?=attention model.decoder_mixer?=attention "
          "model.attention_dropout=0.1",
      token_dropout = "data.token_dropout=0.1", average = "train.ema_decay=0.999";
  constexpr double small_text = 0, large_text = 1;  // MB
  // Rows from 150 on have the settings of recipes/multi30k-en-de-12-minutes.yaml and
  // recipes/multi30k-en-de.yaml.
  static const std::vector<SizeChoice> rows{
      {0, small_text, {narrow, one_layer, pre_norm, few_tokens, batch, rate, "model.dropout=0.2"}},
      {0, large_text, {narrow, one_layer, pre_norm, tokens, batch, rate, "model.dropout=0"}},
      {12, small_text, {narrow, one_layer, pre_norm, few_tokens, batch, rate, "model.dropout=0.3"}},
      {40, small_text, {narrow, two_layers, pre_norm, few_tokens, batch, rate, "model.dropout=0.3"}},
      {40, large_text, {narrow, two_layers, pre_norm, tokens, batch, rate, "model.dropout=0.1"}},
      {150,
       large_text,
       {small, rotary, pre_norm, tokens, attention_dropout, token_dropout, average, "data.batch_tokens=2048",
        "model.dropout=0.15",
        "optimizer.kind?=adam schedule.kind=cosine schedule.learning_rate=2e-3 schedule.warmup=500"}},
      {500,
       large_text,
       {small, rotary, tokens, attention_dropout, token_dropout, average, "data.batch_tokens=4096",
        "model.dropout=0.3",
        "optimizer.kind?=adam schedule.kind=cosine schedule.learning_rate=1e-3 schedule.warmup=1000"}},
  };
  return rows;
}

void validate(const TranslationOptions& o) {
  validate_groups(o, "a source and a target file, or a .tsv or .tmx file");
  require_encoder_and_decoder(o.model, "model");
  require(std::ranges::count(o.start.freeze, ModelPart::head) == 0,
          "start.freeze: a translation model has no head of its own; its output belongs to the embeddings");
  check_batch_norm(o.model, o.data);
  for (const auto& [key, code] : {std::pair("source_language", o.data.source_language),
                                  std::pair("target_language", o.data.target_language)})
    require(code.empty() || is_model_language(code),
            "data.{}: '{}' is not the code of a language, such as de or pt-BR", key, code);
  for (const std::string& pair : o.data.languages)
    require(language_pair(pair).has_value(), "data.languages: '{}' does not name two languages, as en-de does",
            pair);
  require(o.data.languages.empty() || !o.tokenizers_from().empty() || !o.tokenizer.source.empty() ||
              o.tokenizer.kind == TokenizerKind::sentencepiece || o.tokenizer.kind == TokenizerKind::whitespace,
          "data.languages: a tokenizer of {} has no tokens for languages; choose sentencepiece or whitespace "
          "(tokenizer.kind)",
          name_of_enum(o.tokenizer.kind));
  require(
      o.data.weights.empty() || std::ranges::any_of(o.data.weights, [](double weight) { return weight > 0; }),
      "data.weights: every weight is 0, so that there is nothing to train on");
  require(o.data.max_ratio == 0 || o.data.max_ratio >= 1,
          "data.max_ratio: {} would drop every pair, since the longer side has at least as many tokens as the "
          "other; give at least 1, or 0 for no limit",
          o.data.max_ratio);
  require(o.data.languages.empty() || (o.data.source_language.empty() && o.data.target_language.empty()),
          "data.languages: says the languages of each text; leave out data.source_language and "
          "data.target_language");
  require(!o.tokenizers_from().empty() || o.model.tied_embeddings != TiedEmbeddings::all || o.tokenizer.joint,
          "model.tied_embeddings: 'all' needs a joint vocabulary; choose 'decoder' or 'none', or set "
          "tokenizer.joint");
  if (o.data.subword_sampling > 0 && o.tokenizers_from().empty() && o.tokenizer.source.empty())
    SubwordSampler::require_kind(o.tokenizer.kind);
  require(o.data.weights.empty() || o.data.temperature == 1,
          "data.temperature: data.weights says how often each text is used; leave one of them out");
  validate_metrics(o.validation);
}

std::vector<std::string> advice_for(const TranslationOptions& o) {
  const TranslationOptions defaults;
  std::vector<std::string> advice = advice_on_model(model_groups(o), model_groups(defaults), o);
  if (o.data.alignments.empty() && o.train.alignment_weight != defaults.train.alignment_weight)
    advice.emplace_back("train.alignment_weight has no effect without data.alignments");
  if (files_of(o.data, o.data.train, "data.train").size() == 1 &&
      (o.data.temperature != 1 || !o.data.weights.empty()))
    advice.push_back(fmt::format("data.{} has no effect on a single text in data.train",
                                 o.data.weights.empty() ? "temperature" : "weights"));
  if (o.data.shortlist && o.data.valid.empty())
    advice.emplace_back("data.shortlist has no effect without data.valid, with which lists are measured");
  return advice;
}

}  // namespace sixfold
