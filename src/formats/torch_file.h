#pragma once
#include <string>

#include "formats/tensor_map.h"

namespace sixfold {

/// The tensors of a state dictionary that torch.save wrote (pytorch_model.bin), mapped into memory; both of its
/// forms are read, the zip archive and, of versions before 1.6, the sequence of pickles. No code of the file is
/// run: what is not a dictionary of contiguous tensors is refused. Throws an input error that names the file
/// and what is wrong.
TensorMap read_torch(const std::string& path);

}  // namespace sixfold
