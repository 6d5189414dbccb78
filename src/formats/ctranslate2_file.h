#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "formats/tensor_map.h"

namespace sixfold {

/// The model.bin of a CTranslate2 folder, versions 5 and 6, mapped into memory.
class Ctranslate2File {
 public:
  /// Reads and checks the whole file. Throws an input error that names the file and the variable.
  static Ctranslate2File open(const std::string& path);

  const std::string& path() const { return tensors_.origin(); }
  /// The kind of the model: "TransformerSpec".
  const std::string& spec() const { return spec_; }
  /// Weights: floats of 32 or 16 bits, and int8 and int16, which are decoded with their scales when they are
  /// read. The scales ("NAME_scale") are not listed as tensors. An alias is a tensor like the one it names.
  const TensorMap& tensors() const { return tensors_; }
  /// The variable that an alias names, or the name itself.
  std::string target_of(const std::string& name) const;
  /// A setting: an integer, or a float without dimensions.
  struct Number {
    double value = 0;
    bool is_integer = false;
  };
  /// The setting of this name, or null.
  const Number* number(std::string_view name) const;
  std::vector<std::string> numbers() const;

 private:
  explicit Ctranslate2File(const std::string& path) : tensors_(path) {}

  std::string spec_;
  TensorMap tensors_;
  std::map<std::string, std::string> aliases_;
  std::map<std::string, Number, std::less<>> numbers_;
};

/// A variable to write: floats of this shape, or one integer.
struct Ctranslate2Variable {
  std::string name;
  std::vector<int64_t> shape = {};
  std::function<std::vector<float>()> values =
      nullptr;  ///< null: `integer` of `bytes` bytes (1 or 2) is written
  int integer = 0, bytes = 1;
};

/// Writes a model.bin of version 6, atomically, one variable at a time, sorted by name. `aliases` are pairs of
/// a name and the variable that it stands for.
void write_ctranslate2(const std::string& path, const std::string& spec, uint32_t revision,
                       std::vector<Ctranslate2Variable> variables,
                       const std::map<std::string, std::string>& aliases);

}  // namespace sixfold
