#pragma once
#include <string>

#include "formats/tensor_map.h"

namespace sixfold {

/// Maps an .npz file (numpy.savez, Marian) into memory and returns its arrays. Throws an input error that names
/// the file and the array if members are compressed, a type or the order of elements is not supported, or a
/// header does not match its data.
TensorMap read_npz(const std::string& path);

}  // namespace sixfold
