#pragma once
#include <string>

#include "formats/tensor_map.h"

namespace sixfold {

/// Maps a model in Marian's binary format (.bin) into memory and returns its tensors. Those that intgemm
/// quantized to 8 or 16 bits are decoded when they are read. A tensor whose layout is made for one kind of
/// processor has an unknown type: it can be listed but not read. Throws an input error that names the file and
/// the tensor if the file is truncated, or a size does not match.
TensorMap read_marian_bin(const std::string& path);

}  // namespace sixfold
