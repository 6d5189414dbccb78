#include "ops/tensor.h"

#include <gtest/gtest.h>

#include "error_message.h"

namespace sixfold {
namespace {

class TensorCopies : public testing::Test {
 protected:
  Tensor tensor(DType dtype) const { return {arena_, 1, 3, dtype}; }

  std::shared_ptr<Backend> backend_ = make_backend({.device = "reference"});
  std::shared_ptr<Arena> arena_ = std::make_shared<Arena>(backend_);
};

TEST_F(TensorCopies, GoBetweenSingleAndDoublePrecision) {
  const std::vector<float> floats{1, -2.5f, 0.1f};
  const std::vector<double> doubles(floats.begin(), floats.end());
  for (const DType dtype : {DType::f32, DType::f64}) {
    Tensor from_floats = tensor(dtype), from_doubles = tensor(dtype);
    from_floats.copy_from(*backend_, floats);
    from_doubles.copy_from(*backend_, doubles);
    for (const Tensor& copy : {from_floats, from_doubles}) {
      EXPECT_EQ(copy.to_floats(*backend_), floats);
      EXPECT_EQ(copy.to_doubles(*backend_), doubles);
    }
  }
}

TEST_F(TensorCopies, AreRefusedForOtherTypes) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8}) {
    Tensor other = tensor(dtype);
    const std::string expected = "the elements of a tensor of type " + std::string(name_of(dtype)) +
                                 " can't be copied as numbers; only F32 and F64 can";
    EXPECT_EQ(error_message([&] { other.copy_from(*backend_, std::vector<float>{1, 2, 3}); }), expected);
    EXPECT_EQ(error_message([&] { other.copy_from(*backend_, std::vector<double>{1, 2, 3}); }), expected);
    EXPECT_EQ(error_message([&] { other.to_floats(*backend_); }), expected);
    EXPECT_EQ(error_message([&] { other.to_doubles(*backend_); }), expected);
  }
}

}  // namespace
}  // namespace sixfold
