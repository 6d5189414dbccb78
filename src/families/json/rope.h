#pragma once
#include <nlohmann/json.hpp>

#include "families/json/keys.h"
#include "model/config.h"

// Rotary positions in a config.json. The meaning of the keys is defined in transformers'
// modeling_rope_utils.py.

namespace sixfold {

/// The names and the defaults of keys outside of `rope_parameters`, which older folders have.
struct RopeKeys {
  const char* base = "rope_theta";
  const char* share = "partial_rotary_factor";
  float usual_share = 1;  ///< of the features of a head that are rotated
};

/// Sets the base, the rotated features and the scaling of rotary positions. `context_tokens` and the width of a
/// head must be set. The type "dynamic" changes nothing for texts of so many tokens; "longrope" has other
/// factors for texts longer than those of the earlier training, and `context_tokens` becomes the length of
/// these. Throws an input error that names the key for a type that is not supported, and for a value out of
/// range.
void read_rope(const JsonKeys& keys, const RopeKeys& names, ModelConfig& c);

/// The factor of the cosines and sines of yarn for wavelengths that are `factor` times as long (Peng et al.
/// 2024, equation 22); `scale` is that of its logarithm.
double yarn_magnitude(double factor, double scale = 1);

/// The value of `rope_parameters` for these positions.
nlohmann::ordered_json rope_json(const ModelConfig& c);

}  // namespace sixfold
