#include "base/hash.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

TEST(Hash, KnownValues) {  // from xxhsum -H2
  EXPECT_EQ(hash_hex(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_hex("abc"), "06b05ab6733a618578af5f94892f3950");
}

TEST(Hash, SeesEveryByte) {
  std::string bytes(1000, 'x');
  const std::string before = hash_hex(bytes);
  bytes[999] = 'y';
  EXPECT_NE(hash_hex(bytes), before);
  EXPECT_EQ(hash_hex(bytes).size(), 32u);
}

}  // namespace
}  // namespace sixfold
