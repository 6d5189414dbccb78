#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sixfold {

/// An IDX file of bytes: the sizes of its dimensions, and the values.
inline std::string idx_bytes(const std::vector<uint32_t>& sizes, const std::string& values) {
  std::string bytes{0, 0, 8, static_cast<char>(sizes.size())};
  for (const uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift & 0xFF));
  return bytes + values;
}

}  // namespace sixfold
