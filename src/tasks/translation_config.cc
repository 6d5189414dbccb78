#include "tasks/translation_config.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"

namespace sixfold {
namespace {

/// Returns the keys of the sizes in which two architectures differ.
std::vector<std::string> differing_sizes(const ModelOptions& a, const ModelOptions& b) {
  std::vector<std::string> keys;
  const OptionNode left = write_options(a), right = write_options(b);
  for (size_t i = 0; i < left.children.size(); ++i) {
    const auto& [key, value] = left.children[i];
    for (const char* size : {"d_model", "heads", "d_ff", "encoder_layers", "decoder_layers"})
      if (key == size && value.text != right.children[i].second.text) keys.push_back(key);
  }
  return keys;
}

}  // namespace

bool TranslationValidationOptions::translates() const {
  const auto wants = [&](Metric metric) {
    return best_by == metric || std::count(metrics.begin(), metrics.end(), metric) > 0;
  };
  return wants(Metric::bleu) || wants(Metric::chrf);
}

TrainOptions TranslationOptions::training() const {
  return {.start = start,
          .data = data,
          .train = train,
          .optimizer = optimizer,
          .schedule = schedule,
          .checkpoint = checkpoint,
          .validation = validation,
          .log = log,
          .best_by = std::string(name_of_enum(validation.best_by))};
}

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
  try {
    validate(options);
  } catch (const Error& error) {
    throw_input_error("{}: {}", where, error.what());
  }
  return options;
}

/// A part of a batch always has a whole pair, but options that ask for parts of single tokens are a mistake.
static void validate_batch_norm(const TranslationOptions& o) {
  static constexpr int least = 4;  // two of the source and two of the target
  if (o.model.norm != Norm::batch) return;
  const auto check = [](const char* key, int tokens) {
    require(
        tokens == 0 || tokens >= least,
        "{}: is {}, but model.norm: 'batch' normalizes over the tokens of a part of a batch and needs at least "
        "{}; set it higher, or choose another norm",
        key, tokens, least);
  };
  check("data.batch_tokens", o.data.batch_tokens);
  check("data.micro_batch_tokens", o.data.micro_batch_tokens);
}

void validate(const TranslationOptions& o) {
  check_ranges(o);
  validate(static_cast<const Architecture&>(o.model));
  require_encoder_and_decoder(o.model, "model");
  validate_batch_norm(o);
  require(!o.start.model.empty() || o.model.tied_embeddings != TiedEmbeddings::all || o.tokenizer.joint,
          "model.tied_embeddings: 'all' needs a joint vocabulary; choose 'decoder' or 'none', or set "
          "tokenizer.joint");
  require(!o.data.train.empty(),
          "data.train: there is no training text; give a source and a target file, or a .tsv file");
  validate(o.training());
  require(o.validation.patience == 0 || !o.data.valid.empty(),
          "validation.patience: there is no validation text; give it in data.valid");
  const auto& metrics = o.validation.metrics;
  require(std::find(metrics.begin(), metrics.end(), o.validation.best_by) != metrics.end(),
          "validation.best_by: '{}' is not among validation.metrics", name_of_enum(o.validation.best_by));
}

std::vector<std::string> advice_for(const TranslationOptions& o) {
  std::vector<std::string> advice;
  const std::string search = to_json(write_options(o.generation));
  if (!o.start.model.empty() && search != to_json(write_options(GenerationConfig())))
    advice.emplace_back(
        "generation has no effect together with start.model, whose generation settings are used");
  if (!o.start.model.empty())
    for (const std::string& key : differing_sizes(o.model, ModelOptions{}))
      advice.push_back(
          fmt::format("model.{} has no effect together with start.model, whose sizes are used", key));
  else
    for (const std::string& key : differing_sizes(o.model, ModelOptions(o.model.preset())))
      if (o.model.preset() != ModelOptions().preset())
        advice.push_back(
            fmt::format("model.{} is set together with model.preset {} and overrides the preset's value", key,
                        name_of_enum(o.model.preset())));
  return advice;
}

}  // namespace sixfold
