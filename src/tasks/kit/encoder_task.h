#pragma once
#include <string>
#include <string_view>

#include "model/transformer.h"
#include "tasks/kit/model_options.h"
#include "text/tokenizer_options.h"
#include "train/config.h"

// What tasks that train an encoder alone have in common.

namespace sixfold {

/// Changes the defaults of the group `model` to those of an encoder without a decoder.
void set_encoder_defaults(ModelOptions& model);

/// Throws an input error that begins with the place of the key if a config has a key that only a decoder gives
/// a meaning. `what` is the model: "a classifier".
void refuse_keys_of_a_decoder(OptionNode& root, std::string_view what);

/// Throws an input error if a part is frozen that the model does not have, or that would stay random.
void check_frozen_parts(const StartOptions& start, std::string_view what);

/// Throws an input error that names the key unless the architecture is an encoder without a decoder that can
/// be trained on single sequences.
void require_encoder_only(const Architecture& model, std::string_view what);

/// Makes the config of an encoder of the config of a model to start from, which has an encoder. Throws an input
/// error that begins with `where` if it has none.
void keep_encoder(ModelConfig& config, const std::string& where);

/// Copies the weights of a model folder into a model that has more or fewer parts: those of tensors with the
/// same name and shape, but those of the output only if it has the same labels or tokens. Logs which weights of
/// `model` keep their initial values. Throws an input error if none are the same.
void load_common_weights(const std::string& folder, Transformer& model);

}  // namespace sixfold
