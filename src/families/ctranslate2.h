#pragma once
#include <string_view>
#include <utility>

#include "families/family.h"
#include "families/name_rules.h"

// What import and export of CTranslate2 share. The names of variables are defined in its
// python/ctranslate2/specs, their meaning in src/layers.

namespace sixfold::ct2 {

inline constexpr std::string_view transformer_spec = "TransformerSpec";
inline constexpr const char *encoder_positions = "encoder/position_encodings/encodings",
                            *decoder_positions = "decoder/position_encodings/encodings",
                            *source_embedding = "encoder/embeddings_0/weight",
                            *target_embedding = "decoder/embeddings/weight",
                            *projection = "decoder/projection/weight";

/// The activations by their numbers there.
inline constexpr std::pair<int, Activation> activations[] = {
    {0, Activation::relu}, {1, Activation::tanh_gelu},    {2, Activation::swish},
    {3, Activation::gelu}, {4, Activation::sigmoid_gelu}, {6, Activation::sigmoid}};

/// The rules for the names of tensors. Without `positions`, the table of positions is not read, since positions
/// are computed.
NameRules name_rules(bool positions);

/// The settings of `translate_batch` without options, except the beam size.
GenerationConfig generation();

/// Writes a folder of CTranslate2. Throws an input error that names a property that its Transformer lacks.
Exported write_folder(const ExportSource& source, const std::string& output);

}  // namespace sixfold::ct2
