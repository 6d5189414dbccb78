#pragma once
#include <cstdint>
#include <memory>

// The only use of oneDNN: bf16 products, for processors whose bf16 instructions (AMX) make them faster than
// fp32. Compiles with oneDNN 2.6 and 3.

namespace sixfold {

/// c [m, n] = a [m, k] b [k, n], or c += a b if `accumulate` is set, summed in fp32. Element (i, j) of a is a[i
/// * a_row + j * a_col], where one of the strides is 1; likewise for b. Rows of c are c_row apart.
struct Bf16Product {
  int64_t m, n, k;
  const uint16_t* a;
  int64_t a_row, a_col;
  const uint16_t* b;
  int64_t b_row, b_col;
  float* c;
  int64_t c_row;
  bool accumulate;
};

/// Whether oneDNN supports bf16 products on this processor, limited by its environment variable
/// ONEDNN_MAX_CPU_ISA.
bool has_bf16_products();

/// Caches the code that oneDNN compiles for each shape. For one thread at a time; computes on the calling
/// thread. Throws an environment error if oneDNN does not support bf16 on this processor.
class Bf16Multiplier {
 public:
  Bf16Multiplier();
  ~Bf16Multiplier();
  Bf16Multiplier(Bf16Multiplier&&) noexcept;
  void run(const Bf16Product&);

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace sixfold
