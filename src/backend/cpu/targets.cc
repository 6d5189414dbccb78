// The functions of Highway that are not in its headers. Its shared library has them, but that
// of Highway 1.0 also measures the processor's clock when it is loaded, which takes 4 ms of every start of a
// program.
#include <hwy/targets.h>

#include <atomic>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace hwy {
namespace {

#if HWY_ARCH_X86
/// The bits of `numbers`.
template <typename... Numbers>
constexpr unsigned bits(Numbers... numbers) {
  return (... | (1u << numbers));
}

bool has_all(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }
#endif

int64_t detect_targets() {
  int64_t targets = HWY_ENABLED_BASELINE | HWY_EMU128 | HWY_SCALAR;
#if HWY_ARCH_X86
  unsigned a = 0, b1 = 0, b = 0, c1 = 0, c = 0, c_extended = 0, d = 0;
  __get_cpuid(1, &a, &b1, &c1, &d);
  __get_cpuid_count(7, 0, &a, &b, &c, &d);
  __get_cpuid(0x8000'0001, &a, &b1, &c_extended, &d);
  if (!has_all(c1, bits(9))) return targets;
  targets |= HWY_SSSE3;
  if (!has_all(c1, bits(1, 19, 20, 25))) return targets;  // PCLMULQDQ, SSE 4.1 and 4.2, AES
  targets |= HWY_SSE4;
  // AVX, FMA and F16C; AVX2, BMI1 and BMI2; LZCNT. The compiler's function knows whether the system saves the
  // registers.
  if (!__builtin_cpu_supports("avx2") || !has_all(c1, bits(12, 28, 29)) || !has_all(b, bits(3, 5, 8)) ||
      !has_all(c_extended, bits(5)))
    return targets;
  targets |= HWY_AVX2;
  if (!__builtin_cpu_supports("avx512f") || !has_all(b, bits(16, 17, 28, 30, 31)))
    return targets;  // F, DQ, CD, BW, VL
  targets |= HWY_AVX3;
  // VBMI, VBMI2, GFNI, VAES, VPCLMULQDQ, VNNI, BITALG, VPOPCNTDQ
  if (has_all(c, bits(1, 6, 8, 9, 10, 11, 12, 14))) targets |= HWY_AVX3_DL;
#endif
  return targets;
}

std::atomic<int64_t> targets_for_test{0};

}  // namespace

int64_t SupportedTargets() {
  static const int64_t detected = detect_targets();
  const int64_t chosen = targets_for_test;
  return chosen == 0 ? detected : chosen;
}

void SetSupportedTargetsForTest(int64_t targets) { targets_for_test = targets; }

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
