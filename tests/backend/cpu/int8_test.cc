// Products with weights of 8 and 4 bits: exact sums of groups on every instruction set, of any shape.
#include "backend/cpu/int8.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "backend/matrix.h"
#include "instruction_sets.h"

namespace sixfold {
namespace {

using Floats = Matrix<float>;

/// A weight [n, k] of random numbers with random scales. In int8 -127 and 127 are among them, where sums
/// saturate soonest; of 4 bits 0 and 15.
struct Weight {
  Weight(int64_t n, int64_t k, uint64_t seed, int bits = 8) : rows(n), cols(k) {
    Floats drawn = Floats::normal(n, k, seed);
    const int64_t groups = (k + 31) / 32;
    Floats sizes = Floats::normal(n, bits == 8 ? 1 : 2 * groups, seed + 1);
    for (int64_t r = 0; r < n; ++r) {
      for (int64_t c = 0; c < k; ++c)
        data.push_back(static_cast<int8_t>(bits == 8
                                               ? std::clamp(std::round(drawn.at(r, c) * 90), -127.0f, 127.0f)
                                               : std::clamp(std::round(drawn.at(r, c) * 5 + 8), 0.0f, 15.0f)));
      for (int64_t c = 0; c < sizes.view().cols; ++c) {
        const float scale = std::abs(sizes.at(r, c)) * 0.01f;
        scales.push_back(bits == 8 ? scale : upper_half(c % 2 ? -8 * scale : scale));
      }
    }
  }
  static float upper_half(float value) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xFFFF0000u);
  }
  View view() { return {data.data(), DType::i8, rows, cols, cols, {scales.data(), std::ssize(scales)}}; }

  int64_t rows, cols;
  std::vector<int8_t> data;
  std::vector<float> scales;
};

struct Int8Case {
  int64_t m, n, k;
};

const std::vector<Int8Case> cases{{1, 1, 1},    {1, 32, 256},  {3, 33, 5},     {12, 64, 64}, {13, 31, 67},
                                  {30, 97, 30}, {5, 16, 1023}, {25, 130, 256}, {50, 70, 333}};

std::vector<std::pair<Int8Case, int>> cases_of_both_widths() {
  std::vector<std::pair<Int8Case, int>> all;
  for (const Int8Case& c : cases)
    for (const int bits : {8, 4}) all.emplace_back(c, bits);
  return all;
}

kernel::Matmul product(Floats& result, Floats& x, const PackedWeight& weight) {
  return {.result = result.view(), .a = x.view(), .transpose_b = true, .packed_b = &weight};
}

/// What every kernel of this machine gives: named, on its instruction set.
template <class Check>
void for_kernels(const Check& check) {
  for (const int64_t target : InstructionSet::all()) {
    const InstructionSet set(target);
    for (const Int8Kernel& kernel : {int8_pairs_kernel(), int8_vnni_kernel()})
      if (kernel) check(kernel, std::string(kernel.name) + " on " + hwy::TargetName(target));
  }
  if (const Int8Kernel amx = int8_amx_kernel()) check(amx, amx.name);
}

TEST(CpuInt8, EveryKernelAgreesWithTheReference) {
  const auto reference = make_backend({.device = "reference"});
  for (const auto& both : cases_of_both_widths()) {
    const Int8Case c = both.first;
    const int bits = both.second;
    Weight weight(c.n, c.k, 1, bits);
    Floats x = Floats::normal(c.m, c.k, 7);
    Floats bias = Floats::normal(1, c.n, 8);
    for (const bool finished : {false, true}) {
      const auto with_epilogue = [&](kernel::Matmul p) {
        if (finished) p.epilogue = {.bias = bias.view(), .relu = true};
        return p;
      };
      Floats expected(c.m, c.n);
      reference->run(with_epilogue(product(expected, x, *reference->pack(weight.view(), true))));
      for_kernels([&](const Int8Kernel& kernel, const std::string& name) {
        Floats actual(c.m, c.n);
        make_backend({.threads = 2})->run(with_epilogue(product(actual, x, *pack_int8(weight.view(), kernel))));
        SCOPED_TRACE(name + ", bits: " + std::to_string(bits));
        expect_close(actual, expected, 1e-4);
      });
    }
  }
}

/// Ascending ids, of which a token of the weight is one with a probability of 1 to `share`.
std::vector<int32_t> some_of(int64_t n, uint32_t share, uint64_t seed) {
  RandomStream random(seed, 0);
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < n; ++id)
    if (random.below(share) == 0) ids.push_back(id);
  return ids;
}

/// The logits of some tokens are, to the bit, those of all, whatever kernel computes these.
TEST(CpuInt8, LogitsOfListsAreThoseOfTheWholeProduct) {
  for (const Int8Case& c : cases)
    for (const bool biased : {false, true}) {
      Weight weight(c.n, c.k, 1);
      Floats x = Floats::normal(c.m, c.k, 7), bias = Floats::normal(1, c.n, 8);
      if (c.m > 3) x.at(2, 0) = std::numeric_limits<float>::infinity();
      std::vector<AttentionSpan> spans;
      std::vector<int32_t> ids;
      for (int32_t row = 0, rows = 1; row < c.m; row += rows, rows = rows % 5 + 1) {
        const auto list = some_of(c.n, static_cast<uint32_t>(1 + spans.size() % 3), spans.size());
        rows = std::min(rows, static_cast<int32_t>(c.m) - row);
        spans.push_back({row, rows, static_cast<int32_t>(ids.size()), static_cast<int32_t>(list.size())});
        ids.insert(ids.end(), list.begin(), list.end());
      }
      const auto listed = [&](Backend& backend) {
        Floats out(c.m, c.n);
        backend.run(kernel::ListedLogits{.out = out.view(),
                                         .x = x.view(),
                                         .weight = weight.view(),
                                         .bias = biased ? bias.view() : View{},
                                         .spans = spans,
                                         .device_spans = operand(spans),
                                         .ids = operand(ids)});
        return out;
      };
      for_kernels([&](const Int8Kernel& kernel, const std::string& name) {
        Floats all(c.m, c.n);
        kernel::Matmul whole = product(all, x, *pack_int8(weight.view(), kernel));
        if (biased) whole.epilogue = {.bias = bias.view()};
        const auto packed = pack_int8(weight.view(), kernel);
        whole.packed_b = packed.get();
        const auto backend = make_backend({.threads = 2});
        backend->run(whole);
        Floats some = listed(*backend), reference = listed(*make_backend({.device = "reference"}));
        for (const AttentionSpan& span : spans)
          for (int64_t row = span.query_begin; row < span.query_begin + span.query_count; ++row)
            for (int64_t j = 0; j < c.n; ++j) {
              if (j >= span.key_count) {
                EXPECT_EQ(some.at(row, j), 0) << name << ": row " << row << " has no element " << j;
                continue;
              }
              const float expected = all.at(row, ids[static_cast<size_t>(span.key_begin + j)]);
              EXPECT_EQ(std::bit_cast<uint32_t>(some.at(row, j)), std::bit_cast<uint32_t>(expected))
                  << name << ": row " << row << ", element " << j;
              if (std::isfinite(expected)) {
                EXPECT_NEAR(reference.at(row, j), expected, 1e-4);
              }
            }
      });
    }
}

// All at the ends of the range, where sums of pairs in 16 bits would saturate.
TEST(CpuInt8, SumsAreExact) {
  const int64_t k = 4096;
  Weight weight(40, k, 1);
  std::fill(weight.data.begin(), weight.data.end(), int8_t{-127});
  std::fill(weight.scales.begin(), weight.scales.end(), 1.0f);
  Floats x(2, k);
  for (int64_t i = 0; i < k; ++i) x.at(0, i) = -255, x.at(1, i) = i % 2 ? 128.0f : -127.0f;  // scales of 1
  for_kernels([&](const Int8Kernel& kernel, const std::string& name) {
    Floats result(2, 40);
    make_backend()->run(product(result, x, *pack_int8(weight.view(), kernel)));
    for (int64_t j = 0; j < 40; ++j) {
      EXPECT_EQ(result.at(0, j), 127.0f * 255 * k) << name;
      EXPECT_EQ(result.at(1, j), -127.0f * k / 2) << name;
    }
  });
}

/// The largest sums of a group in 4 bits, and an offset for each group.
TEST(CpuInt8, SumsOfFourBitsAreExact) {
  const int64_t k = 4096;
  Weight weight(40, k, 1, 4);
  std::fill(weight.data.begin(), weight.data.end(), int8_t{15});
  for (size_t i = 0; i < weight.scales.size(); ++i) weight.scales[i] = i % 2 ? -8.0f : 1.0f;
  Floats x(2, k);
  for (int64_t i = 0; i < k; ++i) x.at(0, i) = -127, x.at(1, i) = i % 2 ? 127.0f : -127.0f;  // scales of 1
  for_kernels([&](const Int8Kernel& kernel, const std::string& name) {
    Floats result(2, 40);
    make_backend()->run(product(result, x, *pack_int8(weight.view(), kernel)));
    for (int64_t j = 0; j < 40; ++j) {
      EXPECT_EQ(result.at(0, j), 7.0f * -127 * k) << name;
      EXPECT_EQ(result.at(1, j), 0) << name;
    }
  });
}

class RowsOfBits : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Bits, RowsOfBits, testing::Values(8, 4), testing::PrintToStringParamName());

TEST_P(RowsOfBits, ARowsBitsAreItsOwn) {
  Weight weight(70, 100, 3, GetParam());
  Floats x = Floats::normal(29, 100, 4);
  for_kernels([&](const Int8Kernel& kernel, const std::string& name) {
    const auto packed = pack_int8(weight.view(), kernel);
    Floats together(29, 70);
    make_backend({.threads = 2})->run(product(together, x, *packed));
    for (int64_t r = 0; r < 29; ++r) {
      Floats row(1, 100), alone(1, 70);
      for (int64_t i = 0; i < 100; ++i) row.at(0, i) = x.at(r, i);
      make_backend()->run(product(alone, row, *packed));
      for (int64_t j = 0; j < 70; ++j) EXPECT_EQ(alone.at(0, j), together.at(r, j)) << name;
    }
  });
}

TEST_P(RowsOfBits, ZerosStayZerosAndWhatIsNoNumberStaysNone) {
  Weight weight(33, 10, 5, GetParam());
  Floats x(3, 10);
  x.at(1, 3) = std::numeric_limits<float>::quiet_NaN();
  x.at(2, 9) = std::numeric_limits<float>::infinity();
  for_kernels([&](const Int8Kernel& kernel, const std::string& name) {
    Floats result(3, 33);
    make_backend()->run(product(result, x, *pack_int8(weight.view(), kernel)));
    for (int64_t j = 0; j < 33; ++j) {
      EXPECT_EQ(result.at(0, j), 0.0f) << name;
      EXPECT_TRUE(std::isnan(result.at(1, j))) << name;
      EXPECT_TRUE(std::isnan(result.at(2, j))) << name;
    }
  });
}

// 255 / 7e-37 is more than the largest float.
TEST(CpuInt8, RowsOfTinyNumbersGiveTinyNumbers) {
  Weight weight(33, 10, 5);
  for (const float size : {1e-45f, 1e-39f, 1e-37f, 7e-37f, 2e-36f, 1e-35f, 1e-30f}) {
    Floats x(1, 10);
    for (int64_t i = 0; i < 10; ++i) x.at(0, i) = size * (i % 2 ? 0.9f : -0.1f);
    Floats expected(1, 33);
    const auto reference = make_backend({.device = "reference"});
    reference->run(product(expected, x, *reference->pack(weight.view(), true)));
    for_kernels([&](const Int8Kernel& kernel, const std::string& name) {
      Floats result(1, 33);
      make_backend()->run(product(result, x, *pack_int8(weight.view(), kernel)));
      SCOPED_TRACE(name + " of " + std::to_string(std::log10(size)));
      expect_close(result, expected, std::max(4e-36, 0.02 * 1270 * size));
    });
  }
}

TEST(CpuInt8, TablesGiveWhatTheirRowsCount) {
  Weight table(9, 21, 6);
  const std::vector<int32_t> ids{3, -1, 8}, position{0, 1, 0};
  Floats positions = Floats::normal(2, 21, 7), expected(3, 21);
  const auto call = [&](Floats& out) {
    return kernel::Embed{.out = out.view(),
                         .table = table.view(),
                         .ids = operand(ids),
                         .position = operand(position),
                         .positions = positions.view(),
                         .scale = 16};
  };
  make_backend({.device = "reference"})->run(call(expected));
  for (const int64_t target : InstructionSet::all()) {
    const InstructionSet set(target);
    Floats actual(3, 21);
    make_backend()->run(call(actual));
    SCOPED_TRACE(hwy::TargetName(target));
    expect_close(actual, expected, 1e-4);
  }
}

}  // namespace
}  // namespace sixfold
