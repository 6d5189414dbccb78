#pragma once
#include <string>

namespace sixfold {

/// Converts a folder of Hugging Face to the model folder `output`: a MarianMTModel, or a language model
/// (families/causal.h). Of a MarianMTModel it reads config.json,
/// generation_config.json if there is one, model.safetensors (or its shards, or pytorch_model.bin), source.spm,
/// target.spm, vocab.json (and target_vocab.json). The generation settings are those of `generate` with that
/// configuration. Throws an input error that names the key, file or tensor that is not supported.
void import_hugging_face(const std::string& folder, const std::string& output);

/// Converts a model folder to the folder `output`: a language model as families/causal.h says, a translation
/// model for MarianMTModel and for tools that convert from it. Interleaved position encodings are converted by
/// a permutation of d_model, others are written as tables. If the norms have another epsilon than
/// MarianMTModel's, weights are scaled to compensate. Throws an input error that names the part of the
/// architecture that MarianMTModel does not support.
void export_hugging_face(const std::string& model_folder, const std::string& output);

}  // namespace sixfold
