#include "formats/netpbm.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"

// The format is defined in ppm(5) and pgm(5) of Netpbm.

namespace sixfold {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Reads the next number, which spaces and comments (# to the end of a line) precede; -1 if there is none.
int64_t next_number(std::string_view bytes, size_t& at) {
  while (at < bytes.size() && (is_space(bytes[at]) || bytes[at] == '#')) {
    if (bytes[at] != '#')
      ++at;
    else
      while (at < bytes.size() && bytes[at] != '\n') ++at;
  }
  if (at >= bytes.size() || !is_ascii_digit(bytes[at])) return -1;
  constexpr int64_t limit = int64_t{1} << 40;
  int64_t number = 0;
  for (; at < bytes.size() && is_ascii_digit(bytes[at]); ++at)
    number = std::min(limit, number * 10 + (bytes[at] - '0'));
  return number;
}

}  // namespace

bool is_netpbm(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' &&
         (bytes[1] == '2' || bytes[1] == '3' || bytes[1] == '5' || bytes[1] == '6') &&
         (is_space(bytes[2]) || bytes[2] == '#') &&  // a list of files may begin with "P6 photo.png"
         (bytes.size() == 3 || is_space(bytes[3]) || is_ascii_digit(bytes[3]) || bytes[3] == '#' ||
          bytes[2] == '#');
}

NetpbmHeader read_netpbm_header(std::string_view bytes, const std::string& name) {
  NetpbmHeader header;
  header.channels = bytes[1] == '3' || bytes[1] == '6' ? 3 : 1;
  header.text = bytes[1] < '5';
  size_t at = 2;
  header.width = next_number(bytes, at);
  header.height = next_number(bytes, at);
  header.max_value = next_number(bytes, at);
  require(header.width >= 0 && header.height >= 0 && header.max_value > 0 && header.max_value < 65536 &&
              at < bytes.size() && is_space(bytes[at]),
          "{}: is a damaged {} file: its header is not complete", name, header.channels == 3 ? "PPM" : "PGM");
  header.bytes = at + 1;
  const double values =
      static_cast<double>(header.width) * static_cast<double>(header.height) * header.channels;
  require(values <= static_cast<double>(bytes.size()), "{}: is a damaged {} file: it is too short", name,
          header.channels == 3 ? "PPM" : "PGM");
  return header;
}

void read_netpbm_values(std::string_view bytes, const NetpbmHeader& header, std::span<uint8_t> values,
                        const std::string& name) {
  const size_t width = header.max_value < 256 ? 1 : 2;
  size_t at = 0;
  for (uint8_t& value : values) {
    int64_t number = -1;
    if (header.text) {
      number = next_number(bytes, at);
    } else if (at + width <= bytes.size()) {
      number = static_cast<uint8_t>(bytes[at]);
      if (width == 2) number = number * 256 + static_cast<uint8_t>(bytes[at + 1]);
      at += width;
    }
    require(number >= 0 && number <= header.max_value, "{}: is a damaged {} file: {}", name,
            header.channels == 3 ? "PPM" : "PGM", number < 0 ? "it is too short" : "a value is too large");
    value = static_cast<uint8_t>((number * 255 + header.max_value / 2) / header.max_value);
  }
}

}  // namespace sixfold
