#include "data/repeats.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/error.h"

namespace sixfold {
namespace {

constexpr size_t buffered_records = 1 << 14;

}  // namespace

RepeatFinder::RepeatFinder(const std::string& folder) : folder_(folder) {
  std::string name = folder + "/repeats.XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0)
    throw_environment_error("{}: can't create a temporary file: {}", folder, std::strerror(errno));
  ::unlink(name.c_str());
}

RepeatFinder::~RepeatFinder() { ::close(descriptor_); }

void RepeatFinder::add(uint64_t hash) {
  buffer_.push_back({hash, count_++});
  if (buffer_.size() == buffered_records) flush();
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

std::vector<bool> RepeatFinder::find(const std::function<bool(int64_t, int64_t)>& equal) {
  flush();
  std::vector<bool> repeated(static_cast<size_t>(count_));
  if (count_ == 0) return repeated;
  const size_t bytes = static_cast<size_t>(count_) * sizeof(Record);
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (address == MAP_FAILED)
    throw_environment_error("{}: can't map the temporary file: {}", folder_, std::strerror(errno));
  const std::span records(static_cast<Record*>(address), static_cast<size_t>(count_));
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
  ::munmap(address, bytes);
  return repeated;
}

}  // namespace sixfold
