#pragma once
#include <string>
#include <string_view>

#include "base/api.h"
#include "formats/image.h"

namespace sixfold {

/// Decodes a PNG, JPEG, PPM or PGM file. The format is recognized by the first bytes. Grey images have 1
/// channel, others 3; transparent pixels are drawn on white; samples of 16 bits are rounded to 8. `name` begins
/// the messages. Throws an input error if the file is damaged, of another format, or too large: more than 2^14
/// pixels on a side, or 2^26 in all. Safe to call from several threads.
SIXFOLD_API Image decode_image(std::string_view bytes, const std::string& name);

/// The file extensions of these formats.
inline constexpr std::string_view image_extensions[] = {".png", ".jpg", ".jpeg", ".ppm", ".pgm"};

/// Whether a file begins as images of these formats do. Throws as `read_file`; a pipe would lose its first
/// bytes.
SIXFOLD_API bool is_image_file(const std::string& path);

/// Reads and decodes a file. Throws as `decode_image`, and if it can't be read.
SIXFOLD_API Image read_image(const std::string& path);

/// Returns the image as a PNG file. Throws an input error if its values do not fit its size.
std::string encode_png(const Image& image);

}  // namespace sixfold
