#pragma once
#include "base/options.h"

namespace sixfold {

/// How the matrices of a model are multiplied.
enum class WeightType {
  stored,  ///< as the model folder has them
  fp32,
  int8,  ///< docs/int8.md; those in other types are rounded while the model is read
};

template <>
struct EnumNames<WeightType> {
  static constexpr std::pair<WeightType, std::string_view> names[] = {
      {WeightType::stored, "stored"}, {WeightType::fp32, "fp32"}, {WeightType::int8, "int8"}};
};

}  // namespace sixfold
