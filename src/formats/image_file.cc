#include "formats/image_file.h"

#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/file.h"
#include "formats/netpbm.h"

namespace sixfold {
namespace {

constexpr std::string_view png_magic = "\x89PNG", jpeg_magic = "\xFF\xD8\xFF";

Image make_image(int64_t height, int64_t width, int channels, const std::string& name) {
  const auto is_side = [](int64_t n) { return n > 0 && n <= longest_image_side; };
  require(is_side(height) && is_side(width),
          "{}: is {} x {} pixels; an image may have 1 to {} in each direction: scale or cut it", name, height,
          width, longest_image_side);
  require(height * width <= most_image_pixels,
          "{}: is {} x {} pixels; an image may have {} in all: scale or cut it", name, height, width,
          most_image_pixels);
  Image image{.size = {static_cast<int>(height), static_cast<int>(width), channels}, .values = {}};
  image.values.resize(static_cast<size_t>(image.size.values()));
  return image;
}

Image decode_png(std::string_view bytes, const std::string& name) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const auto free = [](png_image* p) { png_image_free(p); };
  const std::unique_ptr<png_image, decltype(free)> guard(&png, free);
  const auto check = [&](int done) { require(done != 0, "{}: is a damaged PNG file: {}", name, png.message); };
  check(png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()));
  const bool colour = (png.format & PNG_FORMAT_FLAG_COLOR) != 0;
  Image image = make_image(png.height, png.width, colour ? 3 : 1, name);
  png.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png.flags |=
      PNG_IMAGE_FLAG_16BIT_sRGB;  // otherwise libpng assumes linear light for 16-bit samples without a gamma
  const png_color white{255, 255, 255};
  check(png_image_finish_read(&png, &white, image.values.data(), 0, nullptr));
  return image;
}

Image decode_jpeg(std::string_view bytes, const std::string& name) {
  const auto destroy = [](void* p) { tjDestroy(p); };
  const std::unique_ptr<void, decltype(destroy)> decoder(tjInitDecompress(), destroy);
  if (!decoder) throw std::bad_alloc();
  const auto check = [&](int status) {
    require(status == 0, "{}: is a damaged JPEG file: {}", name, tjGetErrorStr2(decoder.get()));
  };
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, sampling = 0, space = 0;  // remain 0 for a file that contains only tables
  check(tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &sampling, &space));
  require(width > 0 && height > 0, "{}: is a damaged JPEG file: there is no image in it", name);
  require(space != TJCS_CMYK && space != TJCS_YCCK, "{}: is a JPEG file for print (CMYK); convert it to RGB",
          name);
  const bool grey = space == TJCS_GRAY;
  Image image = make_image(height, width, grey ? 1 : 3, name);
  check(tjDecompress2(decoder.get(), data, bytes.size(), image.values.data(), width, 0, height,
                      grey ? TJPF_GRAY : TJPF_RGB,
                      TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS));
  return image;
}

Image decode_pnm(std::string_view bytes, const std::string& name) {
  const NetpbmHeader header = read_netpbm_header(bytes, name);
  Image image = make_image(header.height, header.width, header.channels, name);
  read_netpbm_values(bytes.substr(header.bytes), header, image.values, name);
  return image;
}

}  // namespace

Image decode_image(std::string_view bytes, const std::string& name) {
  if (bytes.starts_with(png_magic)) return decode_png(bytes, name);
  if (bytes.starts_with(jpeg_magic)) return decode_jpeg(bytes, name);
  if (is_netpbm(bytes)) return decode_pnm(bytes, name);
  throw_input_error("{}: {}; expected a PNG, JPEG, PPM or PGM file", name,
                    bytes.empty() ? "is empty" : "is not an image of a known format");
}

bool is_image_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), "{}: can't be read", path);
  std::string begin(8, '\0');
  file.read(begin.data(), std::ssize(begin));
  begin.resize(static_cast<size_t>(file.gcount()));
  return begin.starts_with(png_magic) || begin.starts_with(jpeg_magic) || is_netpbm(begin);
}

Image read_image(const std::string& path) {
  std::error_code missing;
  const auto status = std::filesystem::status(path, missing);
  require(!std::filesystem::exists(status) || std::filesystem::is_directory(status) ||
              std::filesystem::is_regular_file(status),
          "{}: is not a regular file", path);
  return decode_image(read_file(path), path);
}

std::string encode_png(const Image& image) {
  const auto [height, width, channels] = image.size;
  require(height > 0 && width > 0 && std::ssize(image.values) == image.size.values(),
          "an image of {} has {} values", image.size.describe(), image.values.size());
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<uint32_t>(height), png.width = static_cast<uint32_t>(width);
  png.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  const auto free = [](png_image* p) { png_image_free(p); };
  const std::unique_ptr<png_image, decltype(free)> guard(&png, free);
  size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string bytes(size, '\0');
  const int done = png_image_write_to_memory(&png, bytes.data(), &size, 0, image.values.data(), 0, nullptr);
  if (done == 0) throw_environment_error("a PNG file can't be made: {}", png.message);
  bytes.resize(size);
  return bytes;
}

}  // namespace sixfold
