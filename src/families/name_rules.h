#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tensor_map.h"
#include "model/transformer.h"

namespace sixfold {

/// The values of a tensor while it is converted, row-major.
struct Matrix {
  int64_t rows = 0, cols = 0;
  std::vector<float> values;
  bool vector = false;  ///< it has one dimension in a file, and one row in this object

  float& at(int64_t row, int64_t col) { return values[static_cast<size_t>(row * cols + col)]; }
  float at(int64_t row, int64_t col) const { return values[static_cast<size_t>(row * cols + col)]; }
};

Matrix transposed(const Matrix& matrix);

/// A conversion of a tensor of another program when it is read. When it is written, the steps of a rule are
/// inverted in reverse order. In the comments, "there" is the other program and "here" is Sixfold.
enum class Step {
  transpose,  ///< [in, out] there, [out, in] here
  /// The two features of a head that are rotated together are in different halves of the rotated features
  /// there, and adjacent here. The step is applied to each weight separately, and not to the projection of
  /// values.
  rotate_halves,
  plus_one,   ///< a norm multiplies by 1 + weight there, by the weight here
  skip_rows,  ///< the first `NameRule::skipped_rows` rows do not exist here; they are written as zeros
  to_vector,  ///< [1, n] there, [n] here
  /// The columns of an image filter are ordered by channel and then by pixel there, and by pixel and then by
  /// channel here. There are `NameRule::channels` channels.
  channels_last,
};

/// How a tensor holds several weights.
enum class Fused {
  blocks,   ///< one weight after the other
  by_head,  ///< the rows of all weights for the first head of keys, then those for the second, ...
};

/// What a tensor of another program holds.
enum class Holds {
  weights,
  copy,          ///< an optional tensor that repeats a weight of another rule; it is not written
  written_copy,  ///< the same, but it is written
  nothing,       ///< nothing that is needed here
};

/// A tensor of another program, and the weights of ours that it holds. In a name, `*` stands for some text,
/// such as the number of a layer, which is the same in all names of the rule; `#` for a number in `theirs` that
/// counts from 1 what `*` counts from 0 in `ours`.
struct NameRule {
  std::string theirs;             ///< empty: the weights are not stored, and are zeros
  std::vector<std::string> ours;  ///< several weights, joined as `fused` says
  std::vector<Step> steps = {};   ///< applied to the whole tensor, except `rotate_halves`
  Holds holds = Holds::weights;
  Fused fused = Fused::blocks;
  int64_t skipped_rows = 0;
  int64_t channels = 1;
  /// The shape of a tensor that has more than two dimensions there. Its elements are those of our matrix, in
  /// the same order.
  std::vector<int64_t> shape = {};
  /// The values to write to a tensor that holds nothing for us; null: it is not written.
  std::function<Matrix()> computed = nullptr;
};

/// The rules of a family. The first rule that matches a weight is used, so general rules come last.
using NameRules = std::vector<NameRule>;

/// The name of the tensor that holds the weight `ours`. Throws an error if no rule does.
std::string their_name(const NameRules& rules, std::string_view ours);

/// The same, or the name of a tensor that repeats the weight, if only that is there.
std::string stored_name(const TensorMap& tensors, const NameRules& rules, std::string_view ours);

/// The tensors with the names of the rules: if none has the prefix, such as "model.", each that no rule names,
/// but that one names with the prefix, gets it. transformers writes names without it if a model has no head.
TensorMap with_prefix(TensorMap tensors, const NameRules& rules, std::string_view prefix);

/// The number of rows of the tensor that holds the weight `ours`, a matrix of `cols` columns. It is needed for
/// the size of a vocabulary, on which the shapes of the model depend. Throws an input error that names the
/// tensor if it is missing or has another shape.
int rows_of(const TensorMap& tensors, const NameRules& rules, std::string_view ours, int64_t cols);

/// The values of a matrix or vector. Throws an input error that names the tensor if it is missing, has another
/// number of dimensions, is not of a floating-point type, or has values that are not finite.
Matrix matrix_of(const TensorMap& tensors, const std::string& name);

/// The values of the weight of that name. Throws an error if the model has none.
std::vector<float> values_of(const Transformer& model, std::string_view name);

/// Makes a model of this config and reads its weights by the rules, one tensor at a time. A weight whose tensor
/// is missing is read from one that repeats it. Shapes are those of
/// the model's own weights. Throws an input error that names the tensor if one is missing, has another shape,
/// has no rule, or differs from the weight that it should repeat, or as `matrix_of`.
std::unique_ptr<Transformer> read_weights(const TensorMap& tensors, const NameRules& rules,
                                          const ModelConfig& config);

/// A function that returns the values of each weight of a model that is written.
using WeightValues = std::function<std::vector<float>(const Parameter&)>;

/// A tensor of the other program that is to be written. Its values are computed when `value` is called.
struct TheirTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::function<Matrix()> value;
};

/// The tensors that the rules give for a model of this config, sorted by name. `values` must outlive them.
/// Throws an input error if a weight is not zero that is not stored.
std::vector<TheirTensor> their_tensors(const NameRules& rules, const ModelConfig& config,
                                       const WeightValues& values);

/// Writes the weights of a model of this config in fp32 as a safetensors file that PyTorch reads, one at a
/// time. Throws an input error if a weight is not zero that is not stored.
void write_weights(const std::string& path, const NameRules& rules, const ModelConfig& config,
                   const WeightValues& values);

}  // namespace sixfold
