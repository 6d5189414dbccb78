#include "train/precision.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/cpu/onednn.h"
#include "base/file.h"
#include "temporary_folder.h"

namespace sixfold {
namespace {

TEST(ChoosePrecision, ByRatesUnlessOneIsAskedFor) {
  EXPECT_EQ(choose_precision(Precision::automatic, {.fp32 = 3e11, .bf16 = 15e11}), Precision::bf16);
  EXPECT_EQ(choose_precision(Precision::automatic, {.fp32 = 4.4e11, .bf16 = 2.2e11}), Precision::fp32);
  EXPECT_EQ(choose_precision(Precision::automatic, {.fp32 = 4.4e11, .bf16 = 5e11}), Precision::fp32);
  EXPECT_EQ(choose_precision(Precision::automatic, {.fp32 = 4.4e11}), Precision::fp32);
  EXPECT_EQ(choose_precision(Precision::bf16, {.fp32 = 4.4e11}), Precision::bf16);
  EXPECT_EQ(choose_precision(Precision::fp32, {.fp32 = 1, .bf16 = 1e12}), Precision::fp32);
}

class ProductRatesCache : public testing::Test {
 protected:
  ProductRatesCache() { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "sixfold/product-rates.json";
};

TEST_F(ProductRatesCache, IsMeasuredOnce) {
  const ProductRates measured = product_rates();
  EXPECT_GT(measured.fp32, 1e8);
  EXPECT_EQ(measured.bf16 > 0, has_bf16_products());
  auto cache = nlohmann::json::parse(read_file(path_));
  ASSERT_EQ(cache.size(), 1u);
  cache.begin().value() = {{"fp32", 7.0}, {"bf16", 42.0}};
  write_file_atomically(path_, cache.dump());
  const ProductRates kept = product_rates();
  EXPECT_EQ(kept.fp32, 7.0);
  EXPECT_EQ(kept.bf16, 42.0);
  cache["another processor"] = {{"fp32", 1.0}, {"bf16", 0.0}};
  cache.erase(cache.begin());
  write_file_atomically(path_, cache.dump());
  EXPECT_GT(product_rates().fp32, 1e8);
  EXPECT_EQ(nlohmann::json::parse(read_file(path_)).size(), 2u);
}

TEST_F(ProductRatesCache, WhatIsBrokenIsMeasuredAgain) {
  std::filesystem::create_directories(folder_ / "sixfold");
  for (const char* text : {"", "{", "[1]", "{\"cpu\": 3}", "\xff\xfe"}) {
    write_file_atomically(path_, text);
    EXPECT_GT(product_rates().fp32, 1e8) << text;
    EXPECT_TRUE(nlohmann::json::accept(read_file(path_))) << text;
  }
}

TEST_F(ProductRatesCache, WithoutAFolderItIsMeasuredEachTime) {
  write_file_atomically(folder_ / "file", "");
  setenv("XDG_CACHE_HOME", (folder_ / "file").c_str(), 1);
  EXPECT_GT(product_rates().fp32, 1e8);
}

}  // namespace
}  // namespace sixfold
