#include "formats/zip.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace sixfold {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint32_t member_signature = 0x04034B50, entry_signature = 0x02014B50, end_signature = 0x06054B50,
                   end64_signature = 0x06064B50, locator64_signature = 0x07064B50;
constexpr size_t member_header = 30, entry_header = 46, end_record = 22, locator64 = 20, end64_record = 56;
constexpr size_t max_comment_bytes = 65535;

/// Reads a little-endian number at `offset`, which must be within `bytes`.
template <class T>
uint64_t number(Bytes bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Returns a range of bytes; throws if it is not within the file.
Bytes part(Bytes bytes, uint64_t offset, uint64_t size, const std::string& path) {
  require(offset <= bytes.size() && size <= bytes.size() - offset, "{}: the archive is truncated or damaged",
          path);
  return bytes.subspan(offset, size);
}

std::string text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// The position of the directory.
struct Directory {
  uint64_t entries, size, offset;
};

Directory find_directory(Bytes file, const std::string& path) {
  const size_t last = file.size() >= end_record ? file.size() - end_record : 0;
  const size_t first = last - std::min(last, max_comment_bytes);
  size_t end = last + 1;
  while (file.size() >= end_record && end-- > first)
    if (number<uint32_t>(file, end) == end_signature) break;
  require(file.size() >= end_record && end <= last && number<uint32_t>(file, end) == end_signature,
          "{}: not a zip archive, or a truncated one", path);
  Directory directory{number<uint16_t>(file, end + 10), number<uint32_t>(file, end + 12),
                      number<uint32_t>(file, end + 16)};
  if (end < locator64 || number<uint32_t>(file, end - locator64) != locator64_signature) return directory;
  const Bytes record = part(file, number<uint64_t>(file, end - locator64 + 8), end64_record, path);
  require(number<uint32_t>(record, 0) == end64_signature, "{}: the archive is damaged", path);
  return {number<uint64_t>(record, 32), number<uint64_t>(record, 40), number<uint64_t>(record, 48)};
}

/// An entry of the directory.
struct Entry {
  std::string name;
  uint64_t packed, size, offset;
  uint64_t flags, method;
};

/// Reads the sizes that do not fit into 32 bits. Extra field 1 contains them, and only them, in this order.
void read_wide_sizes(Bytes extra, Entry& entry, const std::string& path) {
  while (extra.size() >= 4) {
    const uint64_t id = number<uint16_t>(extra, 0), length = number<uint16_t>(extra, 2);
    Bytes field = part(extra, 4, length, path);
    extra = extra.subspan(4 + length);
    if (id != 1) continue;
    for (uint64_t* value : {&entry.size, &entry.packed, &entry.offset}) {
      if (*value != 0xFFFFFFFF) continue;
      *value = number<uint64_t>(part(field, 0, 8, path), 0);
      field = field.subspan(8);
    }
  }
}

Entry take_entry(Bytes& rest, const std::string& path) {
  const Bytes header = part(rest, 0, entry_header, path);
  require(number<uint32_t>(header, 0) == entry_signature, "{}: the archive's directory is damaged", path);
  const uint64_t name = number<uint16_t>(header, 28), extra = number<uint16_t>(header, 30),
                 comment = number<uint16_t>(header, 32);
  Entry entry{text(part(rest, entry_header, name, path)),
              number<uint32_t>(header, 20),
              number<uint32_t>(header, 24),
              number<uint32_t>(header, 42),
              number<uint16_t>(header, 8),
              number<uint16_t>(header, 10)};
  read_wide_sizes(part(rest, entry_header + name, extra, path), entry, path);
  rest = rest.subspan(part(rest, 0, entry_header + name + extra + comment, path).size());
  return entry;
}

Bytes member_bytes(Bytes file, const Entry& entry, const std::string& path) {
  require((entry.flags & 1) == 0, "{}: member '{}' is encrypted", path, entry.name);
  require(
      entry.method == 0 && entry.packed == entry.size,
      "{}: member '{}' is compressed, which is not supported; write the file with numpy.savez or torch.save, "
      "not with numpy.savez_compressed",
      path, entry.name);
  const Bytes header = part(file, entry.offset, member_header, path);
  require(number<uint32_t>(header, 0) == member_signature,
          "{}: member '{}' is not at its position; the archive is damaged", path, entry.name);
  const uint64_t skip = member_header + number<uint16_t>(header, 26) + number<uint16_t>(header, 28);
  return part(part(file, entry.offset, file.size() - entry.offset, path), skip, entry.size, path);
}

}  // namespace

bool ZipFile::has_magic(Bytes bytes) {
  return bytes.size() >= 4 && number<uint32_t>(bytes, 0) == member_signature;
}

ZipFile ZipFile::open(const std::string& path) {
  ZipFile zip(path);
  const Bytes file = zip.file_.bytes();
  const Directory directory = find_directory(file, path);
  Bytes rest = part(file, directory.offset, directory.size, path);
  for (uint64_t i = 0; i < directory.entries; ++i) {
    const Entry entry = take_entry(rest, path);
    const bool added = zip.members_.emplace(entry.name, member_bytes(file, entry, path)).second;
    require(added, "{}: member '{}' occurs twice", path, entry.name);
  }
  return zip;
}

}  // namespace sixfold
