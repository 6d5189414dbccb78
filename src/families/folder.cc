#include "families/folder.h"

#include "base/error.h"
#include "formats/safetensors.h"
#include "formats/torch_file.h"

namespace sixfold {

TensorMap read_tensors(const std::filesystem::path& folder) {
  const auto whole = folder / "model.safetensors", parts = folder / "model.safetensors.index.json",
             torch = folder / "pytorch_model.bin";
  if (std::filesystem::exists(whole)) return read_safetensors(whole);
  if (std::filesystem::exists(parts)) return read_sharded_safetensors(parts);
  require(std::filesystem::exists(torch),
          "{}: has no weights; expected model.safetensors, model.safetensors.index.json or pytorch_model.bin",
          folder.string());
  return read_torch(torch);
}

}  // namespace sixfold
