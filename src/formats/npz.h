#pragma once
#include <string>

#include "formats/tensor_map.h"

namespace sixfold {

/// The arrays of an .npz file (numpy.savez, Marian), mapped into memory. Throws an input error that names the
/// file, the array and what is wrong: compressed members, a type or an order of elements that is not read here,
/// a header that does not fit its bytes.
TensorMap read_npz(const std::string& path);

}  // namespace sixfold
