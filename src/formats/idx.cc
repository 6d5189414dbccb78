#include "formats/idx.h"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sixfold {
namespace {

constexpr uint8_t unsigned_bytes = 8;  // the type of the values, in the magic number

gzFile open_file(const std::string& path) {
  errno = 0;
  const gzFile file = gzopen(path.c_str(), "rbe");
  if (!file && errno == 0) throw std::bad_alloc();
  require(file != nullptr, "{}: can't be read: {}", path, std::strerror(errno));
  return file;
}

/// Whether this is the magic number of an IDX file of any type: bytes (8), or integers and floating-point
/// numbers (9, 11 to 14).
bool is_magic(std::span<const uint8_t> magic) {
  return magic[0] == 0 && magic[1] == 0 && magic[2] >= unsigned_bytes && magic[2] <= 14 && magic[3] > 0;
}

}  // namespace

void IdxFile::Close::operator()(void* file) const noexcept { gzclose(static_cast<gzFile>(file)); }

bool IdxFile::has_magic(const std::string& path) {
  const std::unique_ptr<void, Close> file(open_file(path));
  std::array<uint8_t, 4> magic{};
  return gzread(static_cast<gzFile>(file.get()), magic.data(), 4) == 4 && is_magic(magic);
}

IdxFile::IdxFile(const std::string& path) : path_(path), file_(open_file(path)) {
  std::array<uint8_t, 4> magic{};
  read(magic);
  require(is_magic(magic) && magic[2] == unsigned_bytes, "{}: is not an IDX file of bytes", path);
  const int dimensions = magic[3];
  require(dimensions == 1 || dimensions == 3 || dimensions == 4,
          "{}: has {} dimensions; expected 1 (labels), 3 (grey images) or 4 (images with channels)", path,
          dimensions);
  std::array<int64_t, 4> sizes{};
  for (size_t i = 0; i < static_cast<size_t>(dimensions); ++i) {
    std::array<uint8_t, 4> big_endian{};
    read(big_endian);
    for (const uint8_t byte : big_endian) sizes[i] = sizes[i] * 256 + byte;
  }
  if (dimensions == 3) sizes[3] = 1;
  items_ = sizes[0];
  if (dimensions == 1) return;
  constexpr int64_t max_side = 1 << 13;
  require(sizes[1] > 0 && sizes[1] <= max_side && sizes[2] > 0 && sizes[2] <= max_side,
          "{}: its images are {} x {} pixels; expected 1 to {} in each direction", path, sizes[1], sizes[2],
          max_side);
  require(sizes[3] == 1 || sizes[3] == 3, "{}: its images have {} channels; expected 1 or 3", path, sizes[3]);
  item_ = {static_cast<int>(sizes[1]), static_cast<int>(sizes[2]), static_cast<int>(sizes[3])};
}

void IdxFile::fail(const char* how) const {
  throw_input_error("{}: is a damaged IDX file: it {} (after {} of {} items)", path_, how, read_, items_);
}

void IdxFile::read(std::span<uint8_t> to) {
  const auto file = static_cast<gzFile>(file_.get());
  if (gzread(file, to.data(), static_cast<unsigned>(to.size())) != static_cast<int>(to.size())) {
    int status = Z_OK;
    gzerror(file, &status);
    fail(status == Z_OK || status == Z_BUF_ERROR ? "is too short" : "can't be decompressed");
  }
}

bool IdxFile::next(std::vector<uint8_t>& values) {
  const auto file = static_cast<gzFile>(file_.get());
  if (read_ == items_) {
    uint8_t more = 0;
    const int got = gzread(file, &more, 1);
    if (got < 0) fail("can't be decompressed");
    if (got > 0) fail("has more bytes than items");
    return false;
  }
  values.resize(has_images() ? static_cast<size_t>(item_.values()) : 1);
  read(values);
  ++read_;
  return true;
}

std::string idx_header(int64_t images, const ImageSize& size) {
  std::string header{'\0', '\0', static_cast<char>(unsigned_bytes), 4};
  for (const int64_t dimension : {images, int64_t{size.height}, int64_t{size.width}, int64_t{size.channels}})
    for (int shift = 24; shift >= 0; shift -= 8) header.push_back(static_cast<char>(dimension >> shift));
  return header;
}

}  // namespace sixfold
