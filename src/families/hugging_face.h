#pragma once
#include <filesystem>
#include <initializer_list>
#include <string>

#include "families/family.h"
#include "tasks/translation/settings.h"

// Code that all families of Hugging Face share.

namespace sixfold {

extern const Program hugging_face;

/// The step of an import for provenance.json.
inline constexpr const char* hugging_face_step = R"({"step": "import", "from": "hugging_face"})";

/// Whether the source is a folder whose config.json has the `model_type` of the family.
bool has_model_type(const ImportSource& source, const Family& family);

/// Reads the weights of a folder of Hugging Face: model.safetensors, its shards, or pytorch_model.bin. The old
/// names `LayerNorm.gamma` and `LayerNorm.beta` become those of today. Throws an input error if there are none,
/// or as the readers of these files.
TensorMap read_tensors(const std::filesystem::path& folder);

/// Throws an input error if a model uses a rare option of the network, such as `parallel_residual`, that is not
/// among the `supported` ones of a family. Reading the export back would find this difference too, but with a
/// less helpful message.
void need_usual_network(const ExportSource& source, std::string_view class_name,
                        std::initializer_list<std::string_view> supported);

/// Sets the sizes of the decoder's layers, which are 0 where they are those of the encoder.
void set_decoder_sizes(Architecture& a, int heads, int d_ff);

/// Throws an input error unless the heads of each stack divide d_model evenly among themselves, and each has
/// keys and values of its own.
void need_even_heads(const ExportSource& source, std::string_view class_name);

/// Throws an input error unless a translation model adds its positions to embeddings, or has none, and uses
/// scaled dot-product attention (Vaswani et al. 2017, section 3.2.1) in both stacks.
void need_added_positions(const ExportSource& source, std::string_view class_name);

/// The settings of a translation model for a family that puts the end token alone around sources. Throws an
/// input error if the model has other tokens around texts.
TranslationSettings plain_settings(const ExportSource& source, std::string_view class_name);

/// The tokens of a tokenizer, in the order of their ids.
std::vector<std::string> pieces_of(const Tokenizer& tokenizer);

}  // namespace sixfold
