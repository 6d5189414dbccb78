#include "tasks/language_model/config.h"

#include "base/error.h"

namespace sixfold {

LanguageModelOptions::LanguageModelOptions() {
  model.encoder_layers = 0;
  model.tied_embeddings = TiedEmbeddings::decoder;
  tokenizer.byte_fallback = true;
  tokenizer.normalization = Normalization::identity;
  train.label_smoothing = 0;
}

LanguageModelOptions language_model_options_of(OptionNode root, const std::string& where) {
  constexpr std::string_view why = "a language model has no source";
  refuse_key(root, "model.encoder_layers", "0", why);
  refuse_key(root, "model.encoder_mixer", "attention", why);
  LanguageModelOptions options;
  refuse_second_tokenizer(root, why, options.tokenizer);
  read_options(root, options);
  options.model.encoder_layers = 0;  // a preset has an encoder
  normalize_alike(options.tokenizer);
  if (options.model.tied_embeddings == TiedEmbeddings::all)
    options.model.tied_embeddings = TiedEmbeddings::decoder;
  validate_at(options, where);
  return options;
}

std::span<const SizeChoice> LanguageModelOptions::sizes() {
  constexpr std::string_view
      norm = "model.norm=rms",
      positions = "model.positions=rotary model.embedding_scale=false",
      gate = "model.activation=swish model.feed_forward_gate=true model.feed_forward_bias=false",
      decay = "optimizer.kind?=adam optimizer.beta2=0.99 optimizer.weight_decay=0.1",
      clip = "train.clip_norm=1";
  static const std::vector<SizeChoice> rows{
      {0,
       0,
       {"model.d_model=128 model.heads=4 model.d_ff=344 model.decoder_layers=4", pre_norm, norm, positions,
        gate, "model.dropout=0", "data.block_tokens=256", "data.batch_tokens=2048",
        "optimizer.kind?=adam schedule.kind=cosine schedule.learning_rate=3e-3", decay, clip}},
      {100,
       0,
       {"model.d_model=256 model.heads=4 model.d_ff=688 model.decoder_layers=6", pre_norm, norm, positions,
        gate, "model.dropout=0.2", "data.block_tokens=256", "data.batch_tokens=4096",
        "optimizer.kind?=adam schedule.kind=cosine schedule.learning_rate=2e-3", decay, clip}}};
  return rows;
}

void validate(const LanguageModelOptions& o) {
  require(o.model.decoder_layers > 0, "model.decoder_layers is 0; a language model needs at least 1");
  require(o.model.encoder_layers == 0,
          "model.encoder_layers is {}, but a language model has no encoder; set it to 0",
          o.model.encoder_layers);
  validate_groups(o, "a text file");
  for (const ModelPart part : o.start.freeze)
    require(part != ModelPart::encoder && part != ModelPart::head, "start.freeze: a language model has no {}",
            name_of_enum(part));
  require(
      o.model.norm != Norm::batch,
      "model.norm: 'batch' normalizes over the tokens of a batch, among them those that a language model is to "
      "predict; choose layer or rms");
  require(o.model.tied_embeddings != TiedEmbeddings::source,
          "model.tied_embeddings: 'source' ties the embedding of a source, which a language model does not "
          "have; choose decoder or none");
  require(o.model.positions != Positions::learned || o.model.max_positions >= o.data.block_tokens,
          "model.max_positions is {}, but data.block_tokens is {}; there must be a position for each token of "
          "a block",
          o.model.max_positions, o.data.block_tokens);
}

std::vector<std::string> advice_for(const LanguageModelOptions& o) {
  const LanguageModelOptions defaults;
  std::vector<std::string> advice = advice_on_model(model_groups(o), model_groups(defaults), o);
  constexpr std::string_view without_effect_keys[] = {"beam_size", "length_factor", "length_offset",
                                                      "at_longest", "forced_first_token"};
  for (std::string& warning :
       advice_on_generation(model_groups(o), model_groups(defaults), o.start, without_effect_keys,
                            "a language model is told with each prompt how to search, and how much to write"))
    advice.push_back(std::move(warning));
  return advice;
}

}  // namespace sixfold
