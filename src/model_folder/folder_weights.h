#pragma once
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"
#include "model_folder/model_folder.h"

// The values of the weights in the files of model folders.

namespace sixfold {

inline std::string config_path(const std::string& folder) { return folder + "/config.json"; }
inline std::string weights_path(const std::string& folder) { return folder + "/model.safetensors"; }

/// Throws an input error that names the tensor and the value if one is not finite.
void check_finite(const SafetensorsFile& file, const std::string& name, std::span<const float> values);
/// Whether elements of this type have scales: those in int8, or in 4 bits, two in a byte of U8.
bool is_quantized(DType dtype);
/// The shape in a file of a weight of this shape whose elements have this type.
std::vector<int64_t> shape_in_file(std::vector<int64_t> shape, DType dtype);
/// Returns the elements of a tensor. Throws an input error if they are quantized, or not finite.
std::vector<float> values_of(const SafetensorsFile& file, const std::string& name);
/// Throws an input error unless the file has exactly these tensors. Quantized tensors also have scales.
void require_tensors(const SafetensorsFile& file, std::span<const NamedShape> parameters);

/// The name of a part of the adapter of a weight: "X.lora_A.weight" and "X.lora_B.weight" for "X.weight".
std::string adapter_down(const std::string& weight);
std::string adapter_up(const std::string& weight);
/// weight [out, in] += scale * up [out, rank] down [rank, in].
void merge_adapter(std::span<float> weight, std::span<const float> down, std::span<const float> up,
                   int64_t rank, double scale);

/// The weights of a model folder, with its adapters merged into them. Safe to share between threads.
class FolderWeights {
 public:
  using File = std::shared_ptr<const SafetensorsFile>;

  /// `base_depth`: the number of folders in the chain of bases that leads to this one. Throws an input error if
  /// a file is missing or damaged, or if the base is not the one for which the adapters were trained.
  explicit FolderWeights(const std::string& folder, int base_depth = 0);

  const ModelConfig& config() const { return config_; }
  /// Identifies the weights in the folder itself.
  std::string checksum() const;
  /// Returns the file that has a tensor; null if an adapter changes the tensor, or if there is no tensor of
  /// this name.
  File file_of(const std::string& name) const;
  /// The shape of a tensor, or null.
  const std::vector<int64_t>* find(const std::string& name) const;
  std::vector<float> values(const std::string& name) const;
  /// Throws an input error unless the folder has exactly these tensors.
  void require_exactly(std::span<const NamedShape> parameters) const;
  /// Releases the memory of the pages that were read.
  void release_pages() const;

 private:
  bool has_adapter(const std::string& name) const;

  ModelConfig config_;
  AdapterConfig adapters_;
  File file_;
  std::unique_ptr<const FolderWeights> base_;
};

}  // namespace sixfold
