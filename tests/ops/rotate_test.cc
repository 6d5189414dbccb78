#include <gtest/gtest.h>

#include "error_message.h"
#include "ops/run_op.h"

namespace sixfold {
namespace {

constexpr int64_t head_width = 8;

/// The same row at each of `count` positions, rotated.
HostMatrix rotated(const Machine& machine, uint64_t seed, int count) {
  const auto memory = lasting_memory(machine.backend);
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  const HostMatrix row = HostMatrix::normal(1, head_width, seed);
  HostMatrix rows{count, head_width, {}};
  for (int i = 0; i < count; ++i) rows.values.insert(rows.values.end(), row.values.begin(), row.values.end());
  const TokenRows tokens = context.token_rows(ragged_of({count}));
  const Tensor turned = ops::rotate(context, tensor_of(rows, *machine.backend, memory, machine.dtype),
                                    test_positions(context, tokens, head_width, machine.dtype), tokens);
  return {count, head_width, turned.to_doubles(*machine.backend)};
}

double dot(const HostMatrix& a, int64_t row_a, const HostMatrix& b, int64_t row_b) {
  double sum = 0;
  for (int64_t i = 0; i < head_width; ++i)
    sum += a.values[static_cast<size_t>(row_a * head_width + i)] *
           b.values[static_cast<size_t>(row_b * head_width + i)];
  return sum;
}

/// What rotary positions are for: a query and a key see how far apart they are, and not where.
TEST(Rotate, ProductsDependOnDistanceAlone) {
  for (const auto& [machine, tolerance] : {std::pair(reference_f64(), 1e-12), std::pair(cpu(1), 1e-4)}) {
    const HostMatrix query = rotated(machine, 1, 60), key = rotated(machine, 2, 60);
    for (const int64_t distance : {0, 1, 7, 30}) {
      const double first = dot(query, distance, key, 0);
      for (int64_t place = 1; place + distance < 60; place += 5)
        EXPECT_NEAR(dot(query, place + distance, key, place), first, tolerance) << distance << ", " << place;
    }
    EXPECT_GT(std::abs(dot(query, 7, key, 0) - dot(query, 1, key, 0)), 1e-3);
    EXPECT_NEAR(dot(query, 40, query, 40), dot(query, 0, query, 0), tolerance);  // lengths stay
  }
}

TEST(Rotate, RefusesOddWidthsAndTooFewPositions) {
  const Machine machine = reference_f64();
  const auto memory = lasting_memory(machine.backend);
  Context context(machine.backend, std::make_shared<Arena>(machine.backend));
  const TokenRows tokens = context.token_rows(ragged_of({5}));
  const Tensor x = tensor_of(HostMatrix::normal(5, 12, 1), *machine.backend, memory, machine.dtype);
  for (const auto& [rows, cols] : {std::pair(5, 3), std::pair(5, 8), std::pair(4, 4)}) {
    const Tensor angles = tensor_of(HostMatrix::normal(rows, cols, 2), *machine.backend, memory, machine.dtype);
    EXPECT_NE(error_message([&] { ops::rotate(context, x, angles, tokens); }).find("rotate: angles of"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace sixfold
