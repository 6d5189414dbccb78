#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/enumerators.h"

namespace sixfold {

/// The type of a tensor's elements.
enum class DType : uint8_t { f32, f64, bf16, f16, i64, i32, i8, u8 };

struct DTypeInfo {
  std::string_view name;  ///< its name in the safetensors format
  size_t size;            ///< bytes of one element
};

/// Indexed by `DType`.
inline constexpr std::array<DTypeInfo, enumerator_count<DType>()> dtype_table{
    {{"F32", 4}, {"F64", 8}, {"BF16", 2}, {"F16", 2}, {"I64", 8}, {"I32", 4}, {"I8", 1}, {"U8", 1}}};
static_assert(dtype_table.back().size > 0, "dtype_table lacks a type");

/// Bytes of one element.
constexpr size_t size_of(DType dtype) { return dtype_table[static_cast<size_t>(dtype)].size; }

/// The type of elements of T.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::f32;
  if constexpr (std::is_same_v<T, double>) return DType::f64;
  if constexpr (std::is_same_v<T, int32_t>) return DType::i32;
  if constexpr (std::is_same_v<T, int8_t>) return DType::i8;
}

/// The name of the type in safetensors files: "F32", "BF16", ...
constexpr std::string_view name_of(DType dtype) { return dtype_table[static_cast<size_t>(dtype)].name; }

/// The inverse of `name_of`. Returns nothing for an unknown name.
constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < dtype_table.size(); ++i)
    if (dtype_table[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace sixfold
