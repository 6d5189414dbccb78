#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "backend/backend.h"
#include "backend/matrix.h"

namespace sixfold {
namespace {

template <class T>
class ReferenceSums : public testing::Test {
 protected:
  std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(ReferenceSums, Types);

TYPED_TEST(ReferenceSums, ColumnSumAddsRowsInOrder) {
  using M = Matrix<TypeParam>;
  const TypeParam half_ulp = std::numeric_limits<TypeParam>::epsilon() / 2;
  M x{{1, 1}, {half_ulp, 2}, {half_ulp, 3}}, out{{100, 100}};
  this->backend->run(kernel::ColumnSum{out.view(), x.view(), false});
  expect_close(out, M{{1, 6}}, 0);  // in another order the halves would make 1 + epsilon
  this->backend->run(kernel::ColumnSum{out.view(), x.view(), true});
  expect_close(out, M{{2, 12}}, 0);
}

TYPED_TEST(ReferenceSums, SumAddsElementsInFp64) {
  const TypeParam tiny = std::numeric_limits<TypeParam>::epsilon();
  Matrix<TypeParam> x{{1, tiny / 4, tiny / 4}, {-1, 0, 0.5}};
  Matrix<double> sum{{7}};
  const double in_fp64 = 1 + static_cast<double>(tiny / 4) + static_cast<double>(tiny / 4) - 1 + 0.5;
  this->backend->run(kernel::Sum{sum.view(), x.view()});
  EXPECT_EQ(sum.at(0, 0), in_fp64);
  this->backend->run(kernel::Sum{sum.view(), x.view(), /*accumulate=*/true});
  EXPECT_EQ(sum.at(0, 0), 2 * in_fp64);
}

TYPED_TEST(ReferenceSums, BlockSquaresAreOfEachBlock) {
  constexpr int64_t block = kernel::BlockSquares::block;
  std::vector<TypeParam> x(static_cast<size_t>(block) + 2, 2);
  std::vector<double> sums(2);
  const DType dtype = std::is_same_v<TypeParam, float> ? DType::f32 : DType::f64;
  EXPECT_EQ(kernel::BlockSquares::blocks(block + 2), 2);
  this->backend->run(kernel::BlockSquares{{x.data(), dtype, 1, block + 2, block + 2}, {sums.data(), 2}});
  EXPECT_EQ(sums, (std::vector<double>{4.0 * block, 8.0}));
}

}  // namespace
}  // namespace sixfold
