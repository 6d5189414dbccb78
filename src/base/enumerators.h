#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace sixfold {

/// Whether a value of an enum has a name. The compiler writes one without a name as a cast: "(sixfold::Norm)3".
template <auto value>
consteval bool is_enumerator() {
  return std::string_view(__PRETTY_FUNCTION__).find("value = (") == std::string_view::npos;
}

/// The number of enumerators of an enum whose values are 0, 1, 2, ...
template <class Enum, size_t from = 0>
consteval size_t enumerator_count() {
  if constexpr (is_enumerator<static_cast<Enum>(from)>())
    return enumerator_count<Enum, from + 1>();
  else
    return from;
}

/// All enumerators of such an enum, in their order.
template <class Enum>
inline constexpr auto all_enumerators = [] {
  std::array<Enum, enumerator_count<Enum>()> all{};
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Enum>(i);
  return all;
}();

}  // namespace sixfold
