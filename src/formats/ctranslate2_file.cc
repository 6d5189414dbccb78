#include "formats/ctranslate2_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/join.h"
#include "base/protobuf.h"
#include "formats/byte_reader.h"

// The format (CTranslate2's python/ctranslate2/specs/model_spec.py): the version; the name of the specification
// and its revision; the number of variables; for each its name, number of dimensions (8 bits), sizes, type (8
// bits), number of bytes, and data; the number of aliases, and these as pairs of names. Numbers have 32 bits
// unless another size is given here. A text is its length (16 bits), which includes a zero byte at its end, and
// its bytes.

namespace sixfold {
namespace {

enum Ctranslate2Type : uint8_t { ct2_f32, ct2_i8, ct2_i16, ct2_i32, ct2_f16, ct2_bf16, ct2_type_count };
constexpr uint64_t ct2_element_bytes[ct2_type_count] = {4, 1, 2, 4, 2, 2};
constexpr uint32_t written_version = 6, min_variable_bytes = 12;
constexpr std::string_view scale_ending = "_scale";

struct Variable {
  std::vector<int64_t> shape;
  uint8_t type = ct2_f32;
  std::span<const std::byte> bytes;

  bool is_float() const { return type == ct2_f32 || type == ct2_f16 || type == ct2_bf16; }
};

std::string ct2_text(ByteReader& reader, std::string_view what) {
  const std::string_view text = reader.text(reader.number<uint16_t>(what), what);
  require(text.size() > 1 && text.find('\0') == text.size() - 1, "{}: is damaged: {} is not a text",
          reader.origin(), what);
  return std::string(text.substr(0, text.size() - 1));
}

Variable variable_at(ByteReader& reader, const std::string& where) {
  Variable variable;
  const auto dimensions = reader.number<uint8_t>(where);
  for (int i = 0; i < dimensions; ++i) variable.shape.push_back(reader.number<uint32_t>(where));
  variable.type = reader.number<uint8_t>(where);
  require(variable.type < ct2_type_count, "{}: has the unknown type {}", where, variable.type);
  variable.bytes = reader.take(reader.number<uint32_t>(where), where);
  const auto count = tensor_bytes(DType::u8, variable.shape);
  require(count && *count <= variable.bytes.size() &&
              *count * ct2_element_bytes[variable.type] == variable.bytes.size(),
          "{}: {} bytes do not match its type and the shape [{}]", where, variable.bytes.size(),
          join(variable.shape));
  return variable;
}

double integer_of(const Variable& variable, size_t place) {
  const std::byte* at = variable.bytes.data() + place * ct2_element_bytes[variable.type];
  if (variable.type == ct2_i8) return std::to_integer<int8_t>(*at);
  int16_t two = 0;
  int32_t four = 0;
  std::memcpy(variable.type == ct2_i16 ? static_cast<void*>(&two) : &four, at,
              ct2_element_bytes[variable.type]);
  return variable.type == ct2_i16 ? two : four;
}

TensorInfo float_tensor(const Variable& variable) {
  return {variable.type == ct2_f16    ? DType::f16
          : variable.type == ct2_bf16 ? DType::bf16
                                      : DType::f32,
          variable.shape, variable.bytes};
}

/// A weight is its integer divided by the scale of its row, or by a single scale for all rows.
TensorInfo scaled_tensor(const Variable& variable, const TensorInfo& scale, const std::string& where) {
  require(!variable.shape.empty(), "{}: is a single integer that has a scale", where);
  const auto rows = variable.shape[0];
  require(scale.shape.empty() || scale.shape == std::vector<int64_t>{1} || scale.shape == std::vector{rows},
          "{}: has a scale of the shape [{}], but {} rows", where, join(scale.shape), rows);
  TensorInfo tensor{DType::f32, variable.shape, variable.bytes};
  tensor.decode = [variable, scale, where](const TensorInfo&) {
    const std::vector<float> scales = to_floats(scale);
    require(std::ranges::all_of(scales, [](float x) { return std::isfinite(x) && x != 0; }),
            "{}: its scale is not a finite number other than 0; the file is damaged", where);
    std::vector<float> values(variable.bytes.size() / ct2_element_bytes[variable.type]);
    const size_t width = values.size() / std::max<size_t>(1, static_cast<size_t>(variable.shape[0]));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(integer_of(variable, i)) / scales[scales.size() == 1 ? 0 : i / width];
    return values;
  };
  return tensor;
}

}  // namespace

Ctranslate2File Ctranslate2File::open(const std::string& path) {
  const auto mapped = std::make_shared<const MappedFile>(path);
  ByteReader reader(mapped->bytes(), path);
  Ctranslate2File file(path);
  const auto version = reader.number<uint32_t>("the version");
  require(version == 5 || version == 6,
          "{}: version {} of CTranslate2's models is not supported; only 5 and 6 are", path, version);
  file.spec_ = ct2_text(reader, "the kind of the model");
  reader.number<uint32_t>("the revision");
  const auto count = reader.number<uint32_t>("the number of variables");
  require(count <= reader.left() / min_variable_bytes, "{}: is truncated or damaged: it claims {} variables",
          path, count);
  std::map<std::string, Variable, std::less<>> variables;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string name = ct2_text(reader, "the name of a variable");
    const std::string where = fmt::format("{}: variable '{}'", path, name);
    require(variables.emplace(name, variable_at(reader, where)).second, "{}: occurs twice", where);
  }
  for (const auto& [name, variable] : variables) {
    const auto scale = variables.find(name + std::string(scale_ending));
    const bool is_scale =
        name.ends_with(scale_ending) && variables.contains(name.substr(0, name.size() - scale_ending.size()));
    const std::string where = fmt::format("{}: variable '{}'", path, name);
    if (is_scale) continue;
    if (!variable.is_float() && scale != variables.end()) {
      require(scale->second.is_float(), "{}: its scale is not a float", where);
      file.tensors_.add(name, scaled_tensor(variable, float_tensor(scale->second), where));
    } else if (variable.is_float() && !variable.shape.empty()) {
      file.tensors_.add(name, float_tensor(variable));
    } else if (variable.is_float() || variable.bytes.size() == ct2_element_bytes[variable.type]) {
      file.numbers_[name] = {
          variable.is_float() ? to_floats(float_tensor(variable))[0] : integer_of(variable, 0),
          !variable.is_float()};
    } else {
      TensorInfo list{DType::i32, variable.shape, variable.bytes};
      list.unknown_type = "integers without a scale";
      file.tensors_.add(name, list);
    }
  }
  size_t named = 0;
  const auto aliases = reader.number<uint32_t>("the number of aliases");
  for (uint32_t i = 0; i < aliases; ++i) {
    const std::string name = ct2_text(reader, "an alias"),
                      target = ct2_text(reader, "what an alias stands for");
    if (name.ends_with(scale_ending) && !file.tensors_.find(target))
      continue;  // a scale is read together with its weight
    const TensorInfo* tensor = file.tensors_.find(target);
    const Number* number = file.number(target);
    require(tensor || number, "{}: the alias '{}' stands for '{}', which does not exist", path, name, target);
    named += tensor ? tensor->bytes.size() : 0;
    require(named < names_of_tied * mapped->bytes().size(),
            "{}: its aliases stand for more than {} times as many bytes as it has; it is damaged", path,
            names_of_tied);
    if (tensor) file.tensors_.add(name, *tensor);
    if (number) file.numbers_[name] = *number;
    file.aliases_[name] = target;
  }
  require(reader.left() == 0, "{}: has {} bytes after its end; it is damaged", path, reader.left());
  file.tensors_.keep(mapped);
  return file;
}

std::string Ctranslate2File::target_of(const std::string& name) const {
  const auto found = aliases_.find(name);
  return found == aliases_.end() ? name : found->second;
}

const Ctranslate2File::Number* Ctranslate2File::number(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? nullptr : &found->second;
}

std::vector<std::string> Ctranslate2File::numbers() const {
  std::vector<std::string> names;
  for (const auto& [name, number] : numbers_) names.push_back(name);
  return names;
}

void write_ctranslate2(const std::string& path, const std::string& spec, uint32_t revision,
                       std::vector<Ctranslate2Variable> variables,
                       const std::map<std::string, std::string>& aliases) {
  using protobuf::little_endian;
  const auto text = [](const std::string& name) {
    return little_endian(static_cast<uint16_t>(name.size() + 1)) + name + '\0';
  };
  std::ranges::sort(variables, {}, &Ctranslate2Variable::name);
  AtomicFile file(path);
  file.write(little_endian(written_version) + text(spec) + little_endian(revision) +
             little_endian(static_cast<uint32_t>(variables.size())));
  for (const Ctranslate2Variable& variable : variables) {
    const auto size =
        variable.values ? tensor_bytes(DType::f32, variable.shape) : static_cast<uint64_t>(variable.bytes);
    require(size && *size <= std::numeric_limits<uint32_t>::max(),
            "{}: variable '{}' of the shape [{}] is larger than the format can hold", path, variable.name,
            join(variable.shape));
    std::string header = text(variable.name) + static_cast<char>(variable.shape.size());
    for (const int64_t length : variable.shape) header += little_endian(static_cast<uint32_t>(length));
    header += static_cast<char>(variable.values ? ct2_f32 : variable.bytes == 1 ? ct2_i8 : ct2_i16);
    file.write(header + little_endian(static_cast<uint32_t>(*size)));
    if (variable.values) {
      const std::vector<float> values = variable.values();
      file.write(std::as_bytes(std::span(values)));
    } else {
      file.write(little_endian(static_cast<uint32_t>(variable.integer))
                     .substr(0, static_cast<size_t>(variable.bytes)));
    }
  }
  file.write(little_endian(static_cast<uint32_t>(aliases.size())));
  for (const auto& [name, target] : aliases) file.write(text(name) + text(target));
  file.commit();
}

}  // namespace sixfold
