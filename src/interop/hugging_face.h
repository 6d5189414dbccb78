#pragma once
#include <string>

namespace sixfold {

/// Makes the folder `output` from a folder that Hugging Face's MarianMTModel reads: config.json,
/// generation_config.json if there is one, model.safetensors (or its parts, or pytorch_model.bin), source.spm,
/// target.spm, vocab.json (and target_vocab.json). The rules of search are those of `generate` with that
/// configuration. Throws an input error that names the key, file or tensor which has no counterpart here.
void import_hugging_face(const std::string& folder, const std::string& output);

/// The way back: makes the folder `output` for MarianMTModel, and for tools that convert from it, of a model
/// folder. Interleaved positions become Hugging Face's by a permutation of d_model, others become tables;
/// another epsilon of the norms becomes theirs by scaling weights. Throws an input error that names what of the
/// architecture has no counterpart there.
void export_hugging_face(const std::string& model_folder, const std::string& output);

}  // namespace sixfold
