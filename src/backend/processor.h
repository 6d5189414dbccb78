#pragma once
#include <string>

namespace sixfold {

/// The instructions with which this processor computes bf16 products: "AMX" or "AVX512-BF16"; empty if it has
/// none. The two give different bits.
std::string bf16_instructions();

}  // namespace sixfold
