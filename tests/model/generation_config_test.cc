#include "model/generation_config.h"

#include <gtest/gtest.h>

namespace sixfold {
namespace {

TEST(GenerationConfig, LongestOutput) {
  GenerationConfig rules;
  EXPECT_EQ(max_output_length(rules, 7), 57);
  rules.length_factor = 1.5f;
  rules.length_offset = 3;
  EXPECT_EQ(max_output_length(rules, 3), 7);
  rules.length_factor = 0;
  rules.length_offset = 0;
  EXPECT_EQ(max_output_length(rules, 3), 1);
  rules.length_factor = 1e30f;
  EXPECT_GT(max_output_length(rules, 3), 1'000'000);
}

}  // namespace
}  // namespace sixfold
