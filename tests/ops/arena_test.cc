#include "ops/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/random.h"
#include "ops/tensor.h"

namespace sixfold {
namespace {

constexpr size_t MB = size_t{1} << 20;

struct ArenaTest : testing::Test {
  std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  Arena arena{backend};
};

TEST_F(ArenaTest, PiecesAreAlignedAndApart) {
  std::vector<std::pair<char*, size_t>> pieces;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{64}, size_t{65}, 5 * MB}) {
    auto* data = static_cast<char*>(arena.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    std::memset(data, 1, bytes);
    for (const auto& [other, size] : pieces) EXPECT_TRUE(data + bytes <= other || other + size <= data);
    pieces.emplace_back(data, std::max<size_t>(bytes, 1));
  }
}

TEST_F(ArenaTest, CountsWhatIsInUseAndTheMostThatWas) {
  void *a = arena.allocate(100), *b = arena.allocate(64);
  EXPECT_EQ(arena.in_use(), 192u);  // in steps of 64
  arena.free(a, 100);
  EXPECT_EQ(arena.in_use(), 64u);
  arena.free(b, 64);
  EXPECT_EQ(arena.in_use(), 0u);
  EXPECT_EQ(arena.peak(), 192u);
  EXPECT_GE(arena.reserved(), arena.peak());
}

TEST_F(ArenaTest, JoinsNeighboursInAnyOrder) {
  arena.free(arena.allocate(1), 1);
  const size_t chunk = arena.reserved();
  std::vector<int> order{0, 1, 2, 3};
  do {
    std::vector<void*> pieces;
    for (int i = 0; i < 4; ++i) pieces.push_back(arena.allocate(chunk / 4));
    for (const int i : order) arena.free(pieces[static_cast<size_t>(i)], 0);
    void* whole = arena.allocate(chunk);
    EXPECT_EQ(whole, pieces[0]);
    EXPECT_EQ(arena.reserved(), chunk);
    arena.free(whole, 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_F(ArenaTest, TakesTheBestFit) {
  void* large = arena.allocate(1000);
  void* wall1 = arena.allocate(64);
  void* small = arena.allocate(200);
  void* wall2 = arena.allocate(64);
  arena.free(large, 1000);
  arena.free(small, 200);
  EXPECT_EQ(arena.allocate(150), small);
  EXPECT_EQ(arena.allocate(900), large);
  arena.free(wall1, 64);
  arena.free(wall2, 64);
}

TEST_F(ArenaTest, StartsOnOneChunkAfterItOutgrewSeveral) {
  std::vector<void*> pieces{arena.allocate(1)};
  const size_t piece = arena.reserved();
  for (int i = 0; i < 5; ++i) pieces.push_back(arena.allocate(piece));
  for (void* data : pieces) arena.free(data, 0);
  const size_t peak = arena.peak();
  void* whole = arena.allocate(peak);
  EXPECT_GE(arena.reserved(), peak);
  EXPECT_LT(arena.reserved(), 2 * peak);  // a second chunk would have had to hold all
  arena.free(whole, 0);
}

/// Takes and gives as a pass does; returns the places that it got.
std::vector<void*> random_pass(Arena& arena, uint64_t seed) {
  RandomStream random(seed, 0);
  std::vector<void*> places, held;
  for (int i = 0; i < 2000; ++i) {
    if (held.size() > 30 || (!held.empty() && random.below(2))) {
      const size_t which = random.below(static_cast<uint32_t>(held.size()));
      arena.free(held[which], 0);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      held.push_back(arena.allocate(random.below(4 * MB)));
      places.push_back(held.back());
    }
  }
  for (void* piece : held) arena.free(piece, 0);
  return places;
}

TEST_F(ArenaTest, AWarmPassGetsTheSamePlacesAndNoMoreMemory) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Arena fresh(backend);
    for (int i = 0; i < 6; ++i) random_pass(fresh, seed);
    const size_t reserved = fresh.reserved();
    const auto places = random_pass(fresh, seed);
    EXPECT_EQ(random_pass(fresh, seed), places);
    EXPECT_EQ(fresh.reserved(), reserved);
    EXPECT_EQ(fresh.in_use(), 0u);
    EXPECT_LE(fresh.peak(), reserved);
    EXPECT_LE(reserved, 2 * fresh.peak());
  }
}

TEST(Tensor, GivesItsMemoryBackWithItsLastHolder) {
  const std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  const auto arena = std::make_shared<Arena>(backend);
  {
    Tensor a(arena, 4, 16, DType::f32);
    EXPECT_EQ(arena->in_use(), 256u);
    EXPECT_TRUE(a.unique());
    const Tensor b = a;
    EXPECT_FALSE(a.unique());
    EXPECT_TRUE(a.same_as(b));
    a = Tensor();
    EXPECT_EQ(arena->in_use(), 256u);
    b.set_gradient(Tensor(arena, 4, 16, DType::f32));
    EXPECT_EQ(arena->in_use(), 512u);
  }
  EXPECT_EQ(arena->in_use(), 0u);
}

TEST(Tensor, ConvertsBetweenTypes) {
  const std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  const auto memory = lasting_memory(backend);
  for (const DType dtype : {DType::f32, DType::f64}) {
    Tensor tensor(memory, 2, 2, dtype);
    tensor.copy_from(*backend, std::vector<double>{1, 2.5, -3, 0});
    EXPECT_EQ(tensor.to_floats(*backend), (std::vector<float>{1, 2.5, -3, 0}));
    tensor.copy_from(*backend, std::vector<float>{4, 5, 6, 7});
    EXPECT_EQ(tensor.to_doubles(*backend), (std::vector<double>{4, 5, 6, 7}));
    EXPECT_THROW(tensor.copy_from(*backend, std::vector<float>{1, 2, 3}), Error);
    EXPECT_THROW(tensor.copy_from(*backend, std::vector<double>(5)), Error);
  }
}

}  // namespace
}  // namespace sixfold
