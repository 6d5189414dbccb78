#include "tasks/language_model_config.h"

#include "base/error.h"

namespace sixfold {

LanguageModelOptions::LanguageModelOptions() {
  model.encoder_layers = 0;
  model.tied_embeddings = TiedEmbeddings::decoder;
  tokenizer.byte_fallback = true;
  train.label_smoothing = 0;
}

TrainOptions LanguageModelOptions::training() const {
  return {.start = start,
          .data = data,
          .train = train,
          .optimizer = optimizer,
          .schedule = schedule,
          .checkpoint = checkpoint,
          .validation = validation,
          .log = log};
}

namespace {

/// The keys of an architecture or a tokenizer that only a source gives a meaning.
void refuse_keys_of_a_source(OptionNode& root) {
  const auto refuse = [&](const char* group, const char* key, const char* allowed) {
    OptionNode* const node = root.find(group);
    const OptionNode* const value = node ? node->find(key) : nullptr;
    if (value && value->text != allowed)
      throw_input_error("{}: {}.{}: a language model has no source; remove the key", value->where, group, key);
  };
  refuse("model", "encoder_layers", "0");
  refuse("model", "encoder_mixer", "attention");
  refuse("tokenizer", "joint", "true");
  refuse("tokenizer", "target", "");
}

}  // namespace

LanguageModelOptions language_model_options_of(OptionNode root, const std::string& where) {
  refuse_keys_of_a_source(root);
  LanguageModelOptions options;
  read_options(root, options);
  options.model.encoder_layers = 0;  // a preset has an encoder
  if (options.model.tied_embeddings == TiedEmbeddings::all)
    options.model.tied_embeddings = TiedEmbeddings::decoder;
  try {
    validate(options);
  } catch (const Error& error) {
    throw_input_error("{}: {}", where, error.what());
  }
  return options;
}

void validate(const LanguageModelOptions& o) {
  check_ranges(o);
  require(o.task == LanguageModelOptions::task_name, "task: is '{}', expected {}", o.task,
          LanguageModelOptions::task_name);
  require(o.model.decoder_layers > 0, "model.decoder_layers: is 0; a language model needs at least 1");
  require(o.model.encoder_layers == 0,
          "model.encoder_layers: is {}, but a language model has no encoder; set it to 0",
          o.model.encoder_layers);
  validate(static_cast<const Architecture&>(o.model));
  require(
      o.model.norm != Norm::batch,
      "model.norm: 'batch' normalizes over the tokens of a batch, among them those that a language model is to "
      "predict; choose layer or rms");
  require(o.model.tied_embeddings != TiedEmbeddings::source,
          "model.tied_embeddings: 'source' ties the embedding of a source, which a language model does not "
          "have; choose "
          "decoder or none");
  require(o.model.positions != Positions::learned || o.model.max_positions >= o.data.block_tokens,
          "model.max_positions: is {}, but data.block_tokens is {}; there must be a position for each token of "
          "a block",
          o.model.max_positions, o.data.block_tokens);
  require(!o.data.train.empty(), "data.train: there is no training text; give a text file");
  validate(o.training());
  require(o.validation.patience == 0 || !o.data.valid.empty(),
          "validation.patience: there is no validation text; give it in data.valid");
}

std::vector<std::string> advice_for(const LanguageModelOptions& o) {
  std::vector<std::string> advice;
  const std::string search = to_json(write_options(o.generation));
  if (!o.start.model.empty() && search != to_json(write_options(GenerationConfig())))
    advice.emplace_back(
        "generation has no effect together with start.model, whose generation settings are used");
  return advice;
}

}  // namespace sixfold
