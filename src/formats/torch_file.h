#pragma once
#include <string>

#include "formats/tensor_map.h"

namespace sixfold {

/// Maps a state dictionary that torch.save wrote (pytorch_model.bin) into memory and returns its tensors. Both
/// formats are supported: the zip archive and, of versions before 1.6, the sequence of pickles. No code in the
/// file is run. Throws an input error that names the file if it is not a dictionary of contiguous tensors.
TensorMap read_torch(const std::string& path);

}  // namespace sixfold
