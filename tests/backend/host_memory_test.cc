#include "backend/host_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/memory.h"

namespace sixfold {
namespace {

TEST(HostMemory, IsAlignedAndHoldsWhatIsCopiedIn) {
  const auto backend = make_backend({.device = "reference"});
  const char text[] = "sixfold";
  for (size_t bytes : {sizeof text, size_t{64}, size_t{1000}}) {
    void* data = backend->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    std::memset(data, 1, bytes);
    backend->upload(data, std::as_bytes(std::span(text)));
    char back[sizeof text] = {};
    backend->download(std::as_writable_bytes(std::span(back)), data);
    EXPECT_STREQ(back, text);
    backend->free(data, bytes);
  }
}

TEST(HostMemory, NothingCanBeAllocatedCopiedAndReleased) {
  const auto backend = make_backend({.device = "reference"});
  void* data = backend->allocate(0);
  ASSERT_NE(data, nullptr);
  backend->upload(data, {});
  backend->free(data, 0);
  backend->free(nullptr, 0);
}

/// Also where a later block is in the way of the allocator of the C library, which would keep the pages.
TEST(HostMemory, GivesPagesOfLargeBlocksBack) {
  const auto backend = make_backend({.device = "reference"});
  constexpr size_t bytes = size_t{1} << 20, count = 64;
  std::vector<void*> blocks, between;
  for (size_t i = 0; i < count; ++i) {
    blocks.push_back(backend->allocate(bytes + 4000 * i));
    std::memset(blocks.back(), 1, bytes + 4000 * i);
    between.push_back(backend->allocate(1000));
  }
  const int64_t before = anonymous_memory();
  for (size_t i = 0; i < count; ++i) backend->free(blocks[i], bytes + 4000 * i);
  EXPECT_LT(anonymous_memory(), before - static_cast<int64_t>(bytes * count / 4 * 3));
  for (void* block : between) backend->free(block, 1000);
}

TEST(HostMemory, SaysThatThereIsNone) {
  const auto backend = make_backend({.device = "reference"});
  for (size_t bytes : {std::numeric_limits<size_t>::max(), size_t{1} << 63}) {
    try {
      backend->allocate(bytes);
      FAIL() << "no error was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::environment);
      EXPECT_NE(std::string(error.what()).find(std::to_string(bytes)), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace sixfold
