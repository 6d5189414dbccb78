#pragma once
#include <functional>
#include <string>

#include "model/transformer.h"
#include "text/tokenizers.h"

namespace sixfold {

/// Puts what the config must know of the tokenizers into it: sizes, special symbols, hashes.
void bind_tokenizers(ModelConfig& config, const Tokenizers& tokenizers);

/// Writes a whole model folder, or nothing: config, weights, tokenizers, and what `add` puts beside them. Where
/// it is there, a model's files are replaced and others kept (`require_new_or_model` refuses them beforehand).
void write_model_folder(const std::string& folder, const Transformer& model, const Tokenizers& tokenizers,
                        const std::function<void(const std::string& folder)>& add = {});

/// The tokenizers of a model folder. Throws an input error when they are not those that the config is bound
/// to.
Tokenizers load_bound_tokenizers(const std::string& folder, const ModelConfig& config);

}  // namespace sixfold
