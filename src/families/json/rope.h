#pragma once
#include <nlohmann/json.hpp>

#include "families/json/keys.h"
#include "model/config.h"

// Rotary positions in a config.json. The meaning of the keys is defined in transformers'
// modeling_rope_utils.py.

namespace sixfold {

/// The names and defaults of the keys outside of `rope_parameters`, which are used in older folders.
struct RopeKeys {
  const char* base = "rope_theta";
  const char* share = "partial_rotary_factor";  ///< null: the family rotates all features, whatever a key says
  float default_share = 1;                      ///< default share of the features of a head that are rotated
};

/// Sets the base, the rotated features and the scaling of rotary positions. `context_tokens` and the width of a
/// head must be set. The type "dynamic" changes nothing for texts of at most `context_tokens` tokens. The type
/// "longrope" has different factors for texts that are longer than those of the original training, so
/// `context_tokens` becomes the length of these. Throws an input error that names the key for a type that is
/// not supported, and for a value out of range, also for a share of a family that rotates all features.
void read_rope(const JsonKeys& keys, const RopeKeys& names, ModelConfig& c);

/// The factor by which yarn multiplies cosines and sines if the context is extended by `factor` (Peng et al.
/// 2024, equation 22). `scale` multiplies the logarithm of `factor`.
double yarn_magnitude(double factor, double scale = 1);

/// The value of `rope_parameters` for these positions.
nlohmann::ordered_json rope_json(const ModelConfig& c);

}  // namespace sixfold
