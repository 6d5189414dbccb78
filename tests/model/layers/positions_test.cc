// Section 3.5: what makes sines and cosines an encoding of positions.
#include "model/layers/positions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>
#include <vector>

#include "golden_file.h"

namespace sixfold {
namespace {

using Encoding = std::vector<double>;

Encoding encoding(int64_t position, int64_t d_model) {
  Encoding row;
  for (int64_t i = 0; i < d_model; ++i) row.push_back(sinusoidal_position(position, i, d_model));
  return row;
}

double dot(const Encoding& a, const Encoding& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

TEST(Positions, AreWhatPyTorchComputes) {
  const HostMatrix golden = GoldenFile("ops").matrix("positions/output");
  for (int64_t p = 0; p < golden.rows; ++p)
    for (int64_t i = 0; i < golden.cols; ++i)
      EXPECT_NEAR(sinusoidal_position(p, i, golden.cols),
                  golden.values[static_cast<size_t>(p * golden.cols + i)], 1e-12);
}

TEST(Positions, AreUniqueAndBetweenMinusOneAndOne) {
  for (const int64_t d_model : {4, 7, 64, 512}) {
    std::set<std::vector<float>> seen;
    for (int64_t p = 0; p < 2000; ++p) {
      const Encoding row = encoding(p, d_model);
      for (const double value : row) EXPECT_LE(std::abs(value), 1);
      EXPECT_TRUE(seen.emplace(row.begin(), row.end()).second) << "position " << p << " of width " << d_model;
    }
  }
}

TEST(Positions, DotProductDependsOnTheDistanceAlone) {
  for (const int64_t d_model : {6, 64, 512})
    for (const int64_t distance : {0, 1, 2, 7, 100}) {
      const double expected = dot(encoding(0, d_model), encoding(distance, d_model));
      for (const int64_t p : {1, 3, 50, 999}) {
        EXPECT_NEAR(dot(encoding(p, d_model), encoding(p + distance, d_model)), expected, 1e-9);
        EXPECT_NEAR(dot(encoding(p + distance, d_model), encoding(p, d_model)), expected, 1e-9);
      }
    }
}

// PE(pos + k) is PE(pos) with each pair of features turned by k times the pair's frequency.
TEST(Positions, AStepIsOneLinearMapAtAllPositions) {
  for (const int64_t d_model : {6, 64})
    for (const int64_t k : {1, 5, 123}) {
      const Encoding step = encoding(k, d_model);  // sines and cosines of the angles to turn by
      for (int64_t p = 0; p < 300; p += 7) {
        const Encoding from = encoding(p, d_model), to = encoding(p + k, d_model);
        for (size_t i = 0; i < from.size(); i += 2) {
          EXPECT_NEAR(to[i], step[i + 1] * from[i] + step[i] * from[i + 1], 1e-9);
          EXPECT_NEAR(to[i + 1], -step[i] * from[i] + step[i + 1] * from[i + 1], 1e-9);
        }
      }
    }
}

PositionFormula sinusoids_of(int d_model) {
  Architecture a;
  a.d_model = d_model;
  return sinusoids(a);
}

TEST(Sinusoids, BeginAtTheOffset) {
  Architecture a;
  a.d_model = 6;
  a.position_offset = 2;
  a.positions = Positions::sinusoidal_marian;
  for (int64_t p = 0; p < 9; ++p)
    for (int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(sinusoids(a)(p, i), sinusoidal_position(p + 2, i, 6, Positions::sinusoidal_marian));
}

/// The angle of a pair of features at position 1.
std::vector<double> angles(const Architecture& a) {
  std::vector<double> result;
  const PositionFormula formula = rotary_angles(a);
  for (int64_t pair = 0; pair < a.key_width() / 2; ++pair)
    result.push_back(std::atan2(formula(1, 2 * pair), formula(1, 2 * pair + 1)));
  return result;
}

Architecture rotary(int d_k) {
  Architecture a;
  a.positions = Positions::rotary;
  a.d_k = d_k;
  return a;
}

TEST(RotaryAngles, OnlyTheFirstFeaturesAreRotated) {
  Architecture a = rotary(12), narrow = rotary(4);
  a.rotary_features = 4;
  std::vector<double> expected = angles(narrow);
  expected.resize(6, 0.0);
  EXPECT_EQ(angles(a), expected);
}

/// The values are those of `ROPE_INIT_FUNCTIONS` of transformers 5.24, in fp32.
TEST(RotaryAngles, ScaledOnesAreThoseOfTransformers) {
  Architecture a = rotary(16);
  const auto expect = [&](const RotaryScaling& scaling, const std::vector<double>& expected) {
    a.rotary_scaling = scaling;
    const std::vector<double> found = angles(a);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 2e-7 * expected[i]) << i;
  };
  expect({.kind = RotaryScalingKind::linear, .factor = 4},
         {0.25, 0.079056941, 0.0250000004, 0.00790569466, 0.00249999994, 0.000790569466, 0.000250000012,
          7.90569466e-05});
  expect({.kind = RotaryScalingKind::llama3, .factor = 8, .original_context = 64},
         {1, 0.244384587, 0.0130422562, 0.00395284733, 0.00124999997, 0.000395284733, 0.000125000006,
          3.95284733e-05});
  expect({.kind = RotaryScalingKind::yarn, .factor = 4, .original_context = 64, .low = 1, .high = 32},
         {1, 0.237170815, 0.049999997, 0.00790569466, 0.00249999994, 0.000790569466, 0.000250000012,
          7.90569466e-05});
  expect({.kind = RotaryScalingKind::yarn,
          .factor = 4,
          .original_context = 64,
          .low = 2,
          .high = 12,
          .whole_features = false},
         {1, 0.14849025, 0.0250000004, 0.00790569466, 0.00249999994, 0.000790569466, 0.000250000012,
          7.90569466e-05});
  expect({.kind = RotaryScalingKind::factors, .factors = {1, 1.5f, 2, 2.5f, 3, 4, 5, 8}},
         {1, 0.210818499, 0.0500000007, 0.0126491114, 0.00333333341, 0.000790569466, 0.000199999995,
          3.95284733e-05});
  a.rotary_scaling.magnitude = 1.5f;
  const PositionFormula formula = rotary_angles(a);
  EXPECT_NEAR(std::hypot(formula(3, 2), formula(3, 3)), 1.5, 1e-12);
}

TEST(PositionTable, GrowsAndKeepsItsRows) {
  const std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  const PositionTable positions(backend, DType::f64, 6, sinusoids_of(6));
  const Tensor small = positions.for_length(1), same = positions.for_length(small.rows());
  EXPECT_TRUE(small.same_as(same));
  const Tensor large = positions.for_length(small.rows() + 1);
  EXPECT_GT(large.rows(), small.rows());
  const auto few = small.to_doubles(*backend), many = large.to_doubles(*backend);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
  for (int64_t p = 0; p < large.rows(); ++p)
    for (int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(many[static_cast<size_t>(p * 6 + i)], sinusoidal_position(p, i, 6));
}

TEST(PositionTable, CanBeSharedBetweenThreads) {
  const std::shared_ptr<Backend> backend = make_backend({.device = "reference"});
  const PositionTable positions(backend, DType::f32, 6, sinusoids_of(6));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&positions, t] {
      for (int64_t length = 1; length < 5000; length += 100 + t)
        EXPECT_GE(positions.for_length(length).rows(), length);
    });
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace sixfold
