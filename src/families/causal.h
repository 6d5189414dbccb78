#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace sixfold {

class JsonKeys;

/// Whether a folder of Hugging Face with this `model_type` is a language model that can be imported: gpt2,
/// llama or mistral.
bool is_causal_model_type(std::string_view model_type);

/// Converts a folder of Hugging Face's GPT2LMHeadModel, LlamaForCausalLM or MistralForCausalLM to the model
/// folder `output`; `keys` are those of its config.json. It reads model.safetensors (or its shards, or
/// pytorch_model.bin) and tokenizer.json of byte-level BPE, or tokenizer.model of SentencePiece. Throws an
/// input error that names the key, file or tensor that is not supported.
void import_causal_model(const std::filesystem::path& folder, const JsonKeys& keys, const std::string& output);

/// Converts a language model to the folder `output`: a GPT2LMHeadModel if its positions are learned, a
/// LlamaForCausalLM if they are rotary. Throws an input error that names the part of the architecture that
/// neither supports.
void export_causal_model(const std::string& model_folder, const std::string& output);

}  // namespace sixfold
