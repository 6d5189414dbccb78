#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "model/transformer.h"

namespace sixfold {

/// Whether positions are vectors that are added to the embeddings (section 3.5): sinusoidal or learned ones.
bool adds_position_vectors(Positions kind);

/// The sinusoidal encodings of the first positions, [positions, d_model].
std::vector<float> sinusoidal_encodings(const Architecture& architecture, int64_t positions);

/// The encodings that a model adds to embeddings, [rows, d_model]: those of the first `positions`, or all if
/// the model has fewer learned ones. Throws an input error if the model adds none.
std::vector<float> position_encodings(const Transformer& model, int64_t positions);

/// The cosine of two encodings of the same width; 0 if one of them is zero.
double cosine_similarity(std::span<const float> a, std::span<const float> b);

}  // namespace sixfold
