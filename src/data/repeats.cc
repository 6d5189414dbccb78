#include "data/repeats.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr size_t buffered_hashes = 1 << 15;

}  // namespace

RepeatFinder::RepeatFinder(const std::string& folder, int64_t at_once) : folder_(folder), at_once_(at_once) {
  std::string name = folder + "/repeats.XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0)
    throw_environment_error("{}: can't create a temporary file: {}", folder, std::strerror(errno));
  ::unlink(name.c_str());
}

RepeatFinder::~RepeatFinder() { ::close(descriptor_); }

void RepeatFinder::add(uint64_t hash) {
  buffer_.push_back(hash);
  ++count_;
  if (buffer_.size() == buffered_hashes) flush();
}

void RepeatFinder::flush() {
  auto bytes = std::as_bytes(std::span(buffer_));
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_environment_error("{}: can't write: {}", folder_, std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  buffer_.clear();
}

/// The records whose hash, modulo `parts`, is `part`.
std::vector<RepeatFinder::Record> RepeatFinder::read_part(uint64_t part, uint64_t parts,
                                                          const std::atomic<int>* stop) const {
  std::vector<Record> records;
  std::vector<uint64_t> hashes(buffered_hashes);
  for (int64_t index = 0; index < count_;) {
    throw_if_stopped(stop);
    const auto count = static_cast<size_t>(std::min<int64_t>(buffered_hashes, count_ - index));
    auto bytes = std::as_writable_bytes(std::span(hashes).first(count));
    for (int64_t at = index * static_cast<int64_t>(sizeof(uint64_t)); !bytes.empty();) {
      const ssize_t read = ::pread(descriptor_, bytes.data(), bytes.size(), at);
      if (read < 0 && errno == EINTR) continue;
      if (read <= 0)
        throw_environment_error("{}: can't read the temporary file: {}", folder_,
                                read < 0 ? std::strerror(errno) : "it is too short");
      bytes = bytes.subspan(static_cast<size_t>(read));
      at += read;
    }
    for (size_t i = 0; i < count; ++i, ++index)
      if (hashes[i] % parts == part) records.push_back({hashes[i], index});
  }
  return records;
}

std::vector<bool> RepeatFinder::find(const std::function<bool(int64_t, int64_t)>& equal,
                                     const std::atomic<int>* stop) {
  flush();
  std::vector<bool> repeated(static_cast<size_t>(count_));
  const auto parts = static_cast<uint64_t>((count_ + at_once_ - 1) / at_once_);
  for (uint64_t part = 0; part < parts; ++part) {
    std::vector<Record> records = read_part(part, parts, stop);
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
      return a.hash != b.hash ? a.hash < b.hash : a.index < b.index;
    });
    for (size_t begin = 0, end; begin < records.size(); begin = end) {
      for (end = begin + 1; end < records.size() && records[end].hash == records[begin].hash; ++end)
        for (size_t earlier = begin; earlier < end; ++earlier) {
          if (repeated[static_cast<size_t>(records[earlier].index)] ||
              !equal(records[earlier].index, records[end].index))
            continue;
          repeated[static_cast<size_t>(records[end].index)] = true;
          break;
        }
    }
  }
  return repeated;
}

}  // namespace sixfold
