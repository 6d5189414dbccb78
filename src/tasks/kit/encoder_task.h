#pragma once
#include <string>
#include <string_view>

#include "model/transformer.h"
#include "tasks/kit/model_options.h"
#include "tasks/kit/task_options.h"
#include "text/tokenizer_options.h"
#include "train/config.h"

// What tasks that train an encoder alone have in common.

namespace sixfold {

/// Changes the defaults of the group `model` to those of an encoder without a decoder.
void set_encoder_defaults(ModelOptions& model);

/// Throws an input error that begins with the place of the key if a config has a key that only a decoder gives
/// a meaning. `what` is the model: "a classifier".
void refuse_keys_of_a_decoder(OptionNode& root, std::string_view what);

/// Sets what the options of a task on texts have by default if it trains an encoder alone.
template <class Options>
void set_encoder_defaults(Options& o) {
  normalize_alike(o.tokenizer);
  set_encoder_defaults(o.model);
  o.tokenizer.byte_fallback = true;
  o.train.label_smoothing = 0;
}

/// Reads the options of such a task, and sets those that it does not choose. `what` is the model. Throws as
/// `refuse_keys_of_a_decoder`, and as `validate` an input error that begins with `where`.
template <class Options>
Options read_encoder_options(OptionNode root, const std::string& where, std::string_view what) {
  refuse_keys_of_a_decoder(root, what);
  Options options;
  read_options(root, options);
  options.model.decoder_layers = 0;  // a preset has a decoder
  normalize_alike(options.tokenizer);
  validate_at(options, where);
  return options;
}

/// Throws an input error if a part is frozen that the model does not have, or that would stay random.
void check_frozen_parts(const StartOptions& start, std::string_view what);

/// Throws an input error that names the key unless the architecture is an encoder without a decoder that can
/// be trained on single sequences.
void require_encoder_only(const Architecture& model, std::string_view what);

/// Makes the config of an encoder of the config of a model to start from, which has an encoder. Its head and
/// its settings stay if it is for the same `task`. Throws an input error that begins with `where` if it has
/// none.
void keep_encoder(ModelConfig& config, const std::string& where, std::string_view task);

/// The most tokens of a text that a model is to read: `asked`, the value of data.max_tokens, or as many as it
/// has positions for beside `around` others, if these are fewer, which is logged. Throws an input error if
/// there is none.
int context_tokens_of(const ModelConfig& config, int asked, int around);

/// Copies the weights of a model folder into a model that has more or fewer parts: those of tensors with the
/// same name and shape, but those of the output only if it has the same labels or tokens. Logs which weights of
/// `model` keep their initial values. Throws an input error if none are the same.
void load_common_weights(const std::string& folder, Transformer& model);
/// The names of the weights that a new model of this config does not get by it.
std::vector<std::string> weights_not_in(const std::string& folder, const ModelConfig& config);

}  // namespace sixfold
