#pragma once
#include <string>
#include <vector>

#include "model/transformer.h"

// Model folders made of model folders. Tokenizers come along. The folder `output` appears whole or not at all;
// what it may replace, `require_new_or_model` says.

namespace sixfold {

/// Puts the mean of the weights of several models into one like them.
void average_weights(const std::vector<std::string>& folders, Transformer& model);

/// The mean of the weights of several models of one architecture and vocabulary, with the config and tokenizers
/// of the first (section 6.1; also `sixfold average`). Throws an input error for models that are not alike.
void average_models(const std::vector<std::string>& folders, const std::string& output);

/// The model with its matrices in int8 (docs/int8.md; also `sixfold quantize`).
void quantize_model(const std::string& folder, const std::string& output);

}  // namespace sixfold
