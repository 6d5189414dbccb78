#include "search/output_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "search/random_model.h"

namespace sixfold {
namespace {

using Ids = std::vector<int32_t>;

class OutputRowsTest : public testing::Test {
 protected:
  std::vector<float> bias_of(const ops::OutputWeights& weights) const {
    return weights.bias.to_floats(*model_.backend());
  }

  RandomModel model_{30, 5};
  OutputRows all_{model_.output(), model_.backend()};
  OutputRows some_{model_.output(), Ids{2, 7, 19}, model_.backend()};
};

TEST_F(OutputRowsTest, RowsAndTokensAreInverse) {
  EXPECT_TRUE(all_.has_all_tokens());
  EXPECT_EQ(all_.size(), 30);
  EXPECT_EQ(all_.rows_of(Ids{19, 3}), (Ids{19, 3}));
  EXPECT_FALSE(some_.has_all_tokens());
  EXPECT_EQ(some_.size(), 3);
  EXPECT_EQ(some_.rows_of(Ids{19, 3, 2}), (Ids{2, 0}));  // token 3 has no row
  EXPECT_EQ(some_.id_of(1), 7);
  EXPECT_EQ(some_.id_of(-1), -1);
  EXPECT_EQ(all_.id_of(-1), -1);
}

TEST_F(OutputRowsTest, VariantsAreThoseOfTheirRows) {
  EXPECT_EQ(&some_.without({}), &some_.weights());
  EXPECT_EQ(some_.selected({2}).weight.to_floats(*model_.backend()),
            all_.selected({19}).weight.to_floats(*model_.backend()));
  // more variants than are kept
  for (int round = 0; round < 2; ++round)
    for (int32_t row = 0; row < 30; ++row) {
      const std::vector<float> bias = bias_of(all_.without({row}));
      for (int32_t i = 0; i < 30; ++i)
        EXPECT_EQ(std::isinf(bias[static_cast<size_t>(i)]), i == row) << i << " of " << row;
    }
}

}  // namespace
}  // namespace sixfold
