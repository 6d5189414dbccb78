#pragma once
#include "base/options.h"

namespace sixfold {

/// The type in which the matrices of a model are multiplied.
enum class WeightType {
  stored,  ///< the type in the model folder
  fp32,
  int8,  ///< see docs/int8.md; matrices of other types are quantized while the model is loaded
  int4,  ///< the same in 4 bits, except for embeddings, which are int8
};

template <>
struct EnumNames<WeightType> {
  static constexpr std::pair<WeightType, std::string_view> names[] = {{WeightType::stored, "stored"},
                                                                      {WeightType::fp32, "fp32"},
                                                                      {WeightType::int8, "int8"},
                                                                      {WeightType::int4, "int4"}};
};

}  // namespace sixfold
