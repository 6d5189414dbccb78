#pragma once
#include <span>
#include <string>

#include "families/weights.h"
#include "model/layers/architecture.h"

namespace sixfold {

/// How a weight is stored by the other program.
enum class Stored {
  alike,
  transposed,  ///< GPT-2's Conv1D: [in, out]
  /// Llama's queries and keys: the features that are rotated together are half a head apart, and here side by
  /// side.
  rotated,
};

/// A weight of a layer under both names, with its shape here; a vector has one row. Names of ours are within
/// "decoder.layers.I.".
struct LayerWeight {
  std::string ours, theirs;
  int64_t rows, cols;
  Stored stored = Stored::alike;
};

/// The weights of a layer of a Llama, those that the architecture has.
std::vector<LayerWeight> llama_layer(const Architecture& a, bool attention_bias);
/// The weights of a layer of a GPT-2, besides its queries, keys and values, which are one matrix "attn.c_attn".
std::vector<LayerWeight> gpt2_layer(const Architecture& a);

/// Reads the tensor `name`, which is a weight of a layer, and converts it to our form. Throws as
/// `WeightReader::take`. `a` gives the width of a head.
Matrix take_weight(WeightReader& reader, const std::string& name, const LayerWeight& weight,
                   const Architecture& a);
/// Converts a weight of a layer to the other program's form.
Matrix to_stored(Matrix matrix, Stored stored, const Architecture& a);

}  // namespace sixfold
