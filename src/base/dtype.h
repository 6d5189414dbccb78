#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sixfold {

/// The type of a tensor's elements.
enum class DType : uint8_t { f32, f64, bf16, f16, i64, i32, i8, u8 };

struct DTypeInfo {
  std::string_view name;  ///< as the safetensors format writes it
  size_t size;            ///< bytes of one element
};

/// Indexed by `DType`.
inline constexpr std::array<DTypeInfo, 8> dtype_table{
    {{"F32", 4}, {"F64", 8}, {"BF16", 2}, {"F16", 2}, {"I64", 8}, {"I32", 4}, {"I8", 1}, {"U8", 1}}};

/// Bytes of one element.
constexpr size_t size_of(DType dtype) { return dtype_table[static_cast<size_t>(dtype)].size; }

/// The name that safetensors gives it: "F32", "BF16", ...
constexpr std::string_view name_of(DType dtype) { return dtype_table[static_cast<size_t>(dtype)].name; }

/// The inverse of `name_of`; nothing for a name that is not ours.
constexpr std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < dtype_table.size(); ++i)
    if (dtype_table[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace sixfold
