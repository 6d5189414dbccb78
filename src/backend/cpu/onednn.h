#pragma once
#include <cstdint>
#include <memory>

// All that is asked of oneDNN: products in bf16, for processors whose own instructions for them (AMX) make
// these faster than fp32. Compiles with oneDNN 2.6 and 3.

namespace sixfold {

/// c [m, n] (+)= a [m, k] b [k, n], summed in fp32. Element (i, j) of a is a[i * a_row + j * a_col]; one of the
/// strides is 1; so for b. Rows of c lie c_row apart.
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

/// Whether oneDNN multiplies bf16 on this processor, or on what its variable ONEDNN_MAX_CPU_ISA holds it to.
bool has_bf16_products();

/// Keeps what oneDNN compiles for each shape. For one thread at a time; computes in that thread.
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
