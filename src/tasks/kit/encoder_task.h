#pragma once
#include <string>
#include <string_view>

#include "model/transformer.h"
#include "tasks/kit/model_options.h"
#include "tasks/kit/task_options.h"
#include "text/tokenizer_options.h"
#include "train/config.h"

// Functions shared by the tasks that train an encoder without a decoder.

namespace sixfold {

/// Changes the defaults of the group `model` to those of an encoder without a decoder.
void set_encoder_defaults(ModelOptions& model);

/// Throws an input error that begins with the place of the key if a config has a key that only applies to
/// decoders. `what`: the kind of model in messages, such as "a classifier".
void refuse_keys_of_a_decoder(OptionNode& root, std::string_view what);

/// Sets the default options of a text task that trains an encoder without a decoder.
template <class Options>
void set_encoder_defaults(Options& o) {
  normalize_alike(o.tokenizer);
  set_encoder_defaults(o.model);
  o.tokenizer.byte_fallback = true;
  o.train.label_smoothing = 0;
}

/// Reads the options of such a task, and sets those that are the same for all its models. `what`: as above.
/// Throws as `refuse_keys_of_a_decoder`, and as `validate` an input error that begins with `where`.
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

/// Throws an input error if a part is frozen that the model does not have, or that would keep its random
/// initial values.
void check_frozen_parts(const StartOptions& start, std::string_view what);

/// Throws an input error that names the key unless the architecture is an encoder without a decoder that can
/// be trained on single sequences.
void require_encoder_only(const Architecture& model, std::string_view what);

/// Reduces the config of a model to start from to its encoder. The head and the settings stay if the model is
/// for the same `task`. Throws an input error that begins with `where` if the model has no encoder of text.
void keep_encoder(ModelConfig& config, const std::string& where, std::string_view task);

/// The maximum number of text tokens that a model reads: `max_tokens`, the value of data.max_tokens, or the
/// number of positions without those of `special_tokens` special tokens, if this is smaller, which is logged.
/// Throws an input error if no position is left.
int context_tokens_of(const ModelConfig& config, int max_tokens, int special_tokens);

/// Copies weights of a model folder into a model that may have other parts: the tensors with the same name and
/// shape. Those of the output layer are copied only if it has the same labels or tokens. Logs which weights of
/// `model` keep their initial values. Throws an input error if no weights can be copied.
void load_common_weights(const std::string& folder, Transformer& model);
/// The names of the weights of a new model of this config that `load_common_weights` does not copy.
std::vector<std::string> weights_not_in(const std::string& folder, const ModelConfig& config);

}  // namespace sixfold
