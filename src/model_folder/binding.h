#pragma once
#include <functional>
#include <string>

#include "model/transformer.h"
#include "text/tokenizers.h"

namespace sixfold {

/// Sets the fields of the config that depend on the tokenizers: vocabulary sizes, ids of special tokens, and
/// hashes. The source of a model that reads images has no tokenizer. A config that already names these
/// tokenizers is not changed, since an imported model may have other special tokens than its tokenizer.
void bind_tokenizers(ModelConfig& config, const Tokenizers& tokenizers);

/// Writes a model folder with its tokenizers; see `write_model_folder` in model_folder/model_folder.h.
void write_model_folder(const std::string& folder, const Transformer& model, const Tokenizers& tokenizers,
                        const std::function<void(const std::string& folder)>& add = {});

/// How the target tokenizer reads texts: exactly for a model that continues text, otherwise as the target of a
/// source.
TextSide target_side_of(const ModelConfig& config);

/// Loads the tokenizers of a model folder. Throws an input error if it has none, as a classifier of images.
Tokenizers load_text_tokenizers(const std::string& folder);

/// Loads the tokenizers of a model folder; none for a model whose config names none, as for a classifier of
/// images. Throws an input error if their hashes or vocabulary sizes differ from those in the config.
Tokenizers load_bound_tokenizers(const std::string& folder, const ModelConfig& config);

/// Throws an input error if the hashes or vocabulary sizes of the folder's tokenizers differ from those in the
/// config.
void require_bound(const Tokenizers& tokenizers, const std::string& folder, const ModelConfig& config);

}  // namespace sixfold
