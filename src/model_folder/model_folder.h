#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/transformer.h"
#include "model/weight_type.h"

namespace sixfold {

/// How a folder stores the adapters of a model (`AdapterConfig`).
enum class AdapterStorage {
  with_weights,  ///< together with all weights, for the folders of a run, which continues training them
  merged,        ///< merged into the weights that they change: a model without adapters
  separate,      ///< without the weights that the base model has
};

/// Writes config.json and model.safetensors into an existing folder. The caller adds the tokenizers, and uses
/// `AtomicDirectory` to write the whole folder atomically. `base`: for separate adapters, the model folder
/// whose weights the model had before it was trained.
void save_model(const Transformer& model, const std::string& folder,
                AdapterStorage storage = AdapterStorage::with_weights, const std::string& base = {});

/// Writes a model folder atomically: config, weights, and the files that `add` adds. If the folder exists, the
/// files of a model are replaced and other files are kept; `require_new_or_model`, which is called before, does
/// not allow other files.
void write_model_folder(const std::string& folder, const Transformer& model,
                        const std::function<void(const std::string& folder)>& add,
                        AdapterStorage storage = AdapterStorage::with_weights, const std::string& base = {});

/// Reads the config.json of a model folder. Throws an input error if the folder is not a model. A model that
/// is read from a folder has no adapters: they are merged into its weights.
ModelConfig load_model_config(const std::string& folder);

/// The adapters that a model folder stores; their rank is 0 if there are none.
AdapterConfig load_adapters(const std::string& folder);

/// Returns a checksum of the weights of a folder. Throws an input error if they are damaged, or can't be the
/// base of separate adapters.
std::string weights_checksum(const std::string& folder);
/// Throws an input error unless the weights of a folder have this checksum.
void require_base(const std::string& folder, const std::string& expected);

/// Opens a model folder for decoding and scoring. Weights whose type and alignment allow it are used directly
/// in the mapped file, so they must not be modified. Throws an input error that names the tensor if one is
/// missing, extra, of the wrong shape or not finite, or if another type is requested of a quantized
/// model.
std::unique_ptr<Transformer> load_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                        DType dtype = DType::f32, WeightType type = WeightType::stored);

/// Loads a model in fp32, as `load_model`, and packs its weights. Only those pages of the mapped file and those
/// quantized weights stay in memory that are read again, such as embeddings.
std::unique_ptr<Transformer> load_packed_model(const std::string& folder, std::shared_ptr<Backend> backend,
                                               WeightType type);

/// Whether a model folder has weights in int8 or int4.
bool is_quantized_model(const std::string& folder);

/// Throws an input error if a file of tensors is missing or damaged.
void verify_parameters(const std::string& path);

/// Copies the tensors of a safetensors file into the weights, adapters and buffers of a model. Throws an input
/// error unless there is exactly one tensor of the right shape, with finite values, for each of them.
void load_weights(const std::string& path, Transformer& model);

/// Copies the weights of a model folder into the weights and buffers of a model. The model's adapters do not
/// change. Throws an input error as `load_weights`.
void load_folder_weights(const std::string& folder, Transformer& model);

/// Copies the weights of a model folder into those weights and buffers of a model that `selects` selects and
/// that have the same name and shape. Returns their number; the names of all others of the model are appended
/// to `not_loaded`. Throws an input error if a value is not finite.
int64_t load_weights_of_same_shape(const std::string& folder, Transformer& model,
                                   const std::function<bool(const Parameter&)>& selects,
                                   std::vector<std::string>& not_loaded);

/// Write named tensors to a safetensors file in fp32, and read them back as `load_weights` does. Tensors in
/// int8 are written as int8 with their scales in `NAME.scales` and can't be read back.
void write_parameters(const std::string& path, std::span<const Parameter> parameters, Backend& backend);
void read_parameters(const std::string& path, std::span<Parameter> parameters, Backend& backend);

/// The name and shape of a tensor in a file.
struct NamedShape {
  std::string name;
  std::vector<int64_t> shape;
};
/// The same for tensors that are not parameters, such as the state of an optimizer. One tensor at a time is in
/// memory: `values(i)` returns the elements of tensor i, and `use(i, elements)` receives them.
void write_values(const std::string& path, std::span<const NamedShape> tensors,
                  const std::function<std::vector<float>(size_t i)>& values);
void read_values(const std::string& path, std::span<const NamedShape> tensors,
                 const std::function<void(size_t i, const std::vector<float>& values)>& use);

}  // namespace sixfold
