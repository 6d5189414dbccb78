#include "train/precision.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "backend/cpu/bf16.h"
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

TEST(MeasureProductRates, TellsWhatTheProcessorDoes) {
  const MeasuredRates measured = measure_product_rates(1);
  EXPECT_GT(measured.best.fp32, 1e8);
  EXPECT_EQ(measured.best.bf16 > 0, bool(best_bf16_kernel()));
}

TEST(IsSteady, WhereHalfTheRatesAreCloseToTheBest) {
  EXPECT_TRUE(is_steady({}));
  EXPECT_TRUE(is_steady({5}));
  EXPECT_TRUE(is_steady({100, 95, 81, 85, 100}));
  EXPECT_TRUE(is_steady({100, 95, 90, 10, 20}));  // disturbed now and then
  EXPECT_FALSE(is_steady({100, 95, 50, 10, 20}));
  EXPECT_FALSE(is_steady({100, 79, 79, 79, 79}));
}

TEST(HadProcessors, WhereTheThreadsComputedNearlyAllTheTime) {
  EXPECT_TRUE(had_processors(2, 2, 1));
  EXPECT_TRUE(had_processors(2, 1.85, 1));
  EXPECT_FALSE(had_processors(2, 1.7, 1));
  EXPECT_FALSE(had_processors(8, 4, 1));  // another program with as many threads
}

class ProductRatesCache : public testing::Test {
 protected:
  ProductRatesCache() { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }

  /// What `product_rates` says where measuring gives `measured`, so many days from now.
  ProductRates rates(const MeasuredRates& measured, int days = 0) {
    RateSource source;
    source.measure = [this, measured] {
      ++measurements_;
      return measured;
    };
    source.now += std::chrono::hours(24) * days;
    return product_rates(source);
  }

  const MeasuredRates steady_{{7, 42}, true}, other_{{8, 1}, true}, disturbed_{{3, 4}, false};
  int measurements_ = 0;
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "sixfold/product-rates.json";
};

TEST_F(ProductRatesCache, IsMeasuredOnceForEachProcessor) {
  EXPECT_EQ(rates(steady_).bf16, 42);
  EXPECT_EQ(rates(other_).bf16, 42);
  EXPECT_EQ(measurements_, 1);
  const auto cache = nlohmann::json::parse(read_file(path_));
  ASSERT_EQ(cache.size(), 1u);
  write_file_atomically(path_, nlohmann::json{{"another processor", cache.begin().value()}}.dump());
  EXPECT_EQ(rates(other_).bf16, 1);
  EXPECT_EQ(nlohmann::json::parse(read_file(path_)).size(), 2u);
}

TEST_F(ProductRatesCache, IsMeasuredAgainAfterAMonthAndByAnotherVersion) {
  rates(steady_);
  EXPECT_EQ(rates(other_, 29).fp32, 7);
  EXPECT_EQ(rates(other_, -1).fp32, 8);  // the clock was wrong
  rates(steady_);
  EXPECT_EQ(rates(other_, 31).fp32, 8);
  EXPECT_EQ(rates(steady_, 31).fp32, 8);
  auto cache = nlohmann::json::parse(read_file(path_));
  cache.begin().value()["version"] = "0.0.0";
  write_file_atomically(path_, cache.dump());
  EXPECT_EQ(rates(steady_, 31).fp32, 7);
}

TEST_F(ProductRatesCache, KeepsNothingThatABusyMachineMeasured) {
  EXPECT_EQ(rates(disturbed_).fp32, 3);
  EXPECT_EQ(measurements_, 3);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(rates(steady_).fp32, 7);
  EXPECT_EQ(rates(disturbed_).fp32, 7);
}

TEST_F(ProductRatesCache, WhatIsBrokenIsMeasuredAgain) {
  std::filesystem::create_directories(folder_ / "sixfold");
  for (const char* text : {"", "{", "[1]", "{\"cpu\": 3}", "\xff\xfe"}) {
    write_file_atomically(path_, text);
    EXPECT_EQ(rates(steady_).fp32, 7) << text;
    EXPECT_TRUE(nlohmann::json::accept(read_file(path_))) << text;
    auto cache = nlohmann::json::parse(read_file(path_));
    for (auto& [processor, entry] : cache.items()) entry = {{"fp32", "fast"}, {"version", 3}};
    write_file_atomically(path_, cache.dump());
    EXPECT_EQ(rates(steady_).fp32, 7);
  }
}

TEST_F(ProductRatesCache, WithoutAFolderItIsMeasuredEachTime) {
  write_file_atomically(folder_ / "file", "");
  setenv("XDG_CACHE_HOME", (folder_ / "file").c_str(), 1);
  EXPECT_EQ(rates(steady_).fp32, 7);
  EXPECT_EQ(rates(other_).fp32, 8);
}

}  // namespace
}  // namespace sixfold
