#pragma once
#include <nlohmann/json.hpp>

#include "families/json/keys.h"
#include "model/layers/architecture.h"

// Rotary positions in a config.json. The meaning of the keys is defined in transformers'
// modeling_rope_utils.py.

namespace sixfold {

/// The names and the defaults of keys outside of `rope_parameters`, which older folders have.
struct RopeKeys {
  const char* base = "rope_theta";
  const char* share = "partial_rotary_factor";
  float usual_share = 1;  ///< of the features of a head that are rotated
};

/// Sets the base, the rotated features and the scaling of rotary positions. `context`: the longest text that
/// the model reads, up to which the type "dynamic" changes nothing. The width of a head must be set. Throws an
/// input error that names the key for a type that is not supported, and for a value out of range.
void read_rope(const JsonKeys& keys, const RopeKeys& names, int context, Architecture& a);

/// The value of `rope_parameters` for these positions.
nlohmann::ordered_json rope_json(const Architecture& a);

}  // namespace sixfold
