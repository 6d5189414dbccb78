#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sixfold {

/// The header of a PPM or PGM file, whose values are text (P2, P3) or bytes (P5, P6).
struct NetpbmHeader {
  int64_t height = 0, width = 0;
  int channels = 1;       ///< 1 (PGM) or 3 (PPM)
  int64_t max_value = 0;  ///< the value of full brightness, 1 to 65,535
  bool text = false;
  size_t bytes = 0;  ///< the length of the header
};

/// Whether a file begins as PPM or PGM files do.
bool is_netpbm(std::string_view bytes);

/// Reads the header of a file. Throws an input error that begins with `name` if it is damaged, or if the file
/// is too short for the values.
NetpbmHeader read_netpbm_header(std::string_view bytes, const std::string& name);

/// Reads the values after the header, scaled to 0 to 255. Throws an input error that begins with `name` if
/// there are too few, or if one is too large.
void read_netpbm_values(std::string_view bytes, const NetpbmHeader& header, std::span<uint8_t> values,
                        const std::string& name);

}  // namespace sixfold
