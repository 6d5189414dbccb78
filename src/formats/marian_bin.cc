#include "formats/marian_bin.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "formats/byte_reader.h"

// The format: a version; the number of tensors; for each the length of its name, its type, the number of its
// sizes and of its bytes (64 bits each); the names, each with a zero byte; the sizes (32 bits each); the number
// of padding bytes, and these; the data of the tensors, whose padding counts as a part of them.
// (src/common/binary.cpp of Marian 1.12)

namespace sixfold {
namespace {

constexpr uint64_t known_version = 1, max_marian_dimensions = 8;

struct ItemHeader {
  uint64_t name_length, type, sizes, bytes;
};

/// The types of Marian whose elements need no decoding.
constexpr std::pair<uint64_t, DType> plain_types[] = {
    {0x101, DType::i8},  {0x104, DType::i32}, {0x108, DType::i64}, {0x201, DType::u8},
    {0x402, DType::f16}, {0x404, DType::f32}, {0x408, DType::f64}};

/// The bytes of an element of a type of intgemm that does not depend on the processor, in the numbering of
/// Marian or of its fork for browsers; 0 for all other types.
int intgemm_element(uint64_t type) {
  if (type == 0x4101 || type == 0x10001) return 1;
  return type == 0x4102 || type == 0x10002 ? 2 : 0;
}

/// A weight is stored as its transpose, an embedding as it is. The elements are followed by the number with
/// which they were multiplied.
template <class Element>
std::vector<float> decode_intgemm(const TensorInfo& tensor, bool transposed) {
  const auto rows = static_cast<size_t>(tensor.shape[0]), cols = static_cast<size_t>(tensor.shape[1]);
  float multiplier;
  std::memcpy(&multiplier, tensor.bytes.data() + rows * cols * sizeof(Element), sizeof multiplier);
  require(std::isfinite(multiplier) && multiplier > 0, "its multiplier is {}; the file is damaged", multiplier);
  std::vector<float> values(rows * cols);
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < cols; ++c) {
      Element element;
      const size_t place = transposed ? c * rows + r : r * cols + c;
      std::memcpy(&element, tensor.bytes.data() + place * sizeof element, sizeof element);
      values[r * cols + c] = static_cast<float>(element) / multiplier;
    }
  return values;
}

/// Checks the bytes of a tensor and returns how they are read. `where`, the file and the tensor, begins errors.
TensorInfo tensor_of(const ItemHeader& header, std::string_view name, std::vector<int64_t> shape,
                     std::span<const std::byte> bytes, const std::string& where) {
  TensorInfo tensor{DType::f32, std::move(shape), bytes};
  const auto take = [&](uint64_t count) {
    require(count <= bytes.size(), "{}: {} bytes are too few for the shape [{}]", where, bytes.size(),
            join(tensor.shape));
    tensor.bytes = bytes.first(count);
  };
  for (const auto& [type, dtype] : plain_types)
    if (type == header.type) {
      tensor.dtype = dtype;
      const auto needed = tensor_bytes(dtype, tensor.shape);
      require(needed.has_value(), "{}: [{}] is not a valid shape", where, join(tensor.shape));
      take(*needed);
      return tensor;
    }
  const int element = intgemm_element(header.type);
  if (element == 0 || tensor.shape.size() != 2) {
    tensor.unknown_type = fmt::format("{:#x} of Marian, which is made for one kind of processor", header.type);
    if (element != 0) tensor.unknown_type = "intgemm that are no matrix";
    return tensor;
  }
  const auto count = tensor_bytes(DType::i8, tensor.shape);
  require(count && *count <= bytes.size(), "{}: {} bytes are too few for the shape [{}]", where, bytes.size(),
          join(tensor.shape));
  take(*count * static_cast<uint64_t>(element) + sizeof(float));
  const bool transposed = name.find("Wemb") == name.npos;
  tensor.decode = [transposed, element, where](const TensorInfo& info) {
    try {
      return element == 1 ? decode_intgemm<int8_t>(info, transposed)
                          : decode_intgemm<int16_t>(info, transposed);
    } catch (const Error& error) {
      throw_input_error("{}: {}", where, error.what());
    }
  };
  return tensor;
}

/// Reads the headers of all tensors.
std::vector<ItemHeader> headers_of(ByteReader& reader) {
  const auto version = reader.number<uint64_t>("its version");
  require(version == known_version, "{}: is not a model of Marian: its version is {} instead of {}",
          reader.origin(), version, known_version);
  const auto count = reader.number<uint64_t>("the number of tensors");
  require(count <= reader.left() / sizeof(ItemHeader), "{}: is truncated or damaged: it names {} tensors",
          reader.origin(), count);
  std::vector<ItemHeader> headers;
  for (uint64_t i = 0; i < count; ++i)
    headers.push_back({reader.number<uint64_t>("the length of a name"), reader.number<uint64_t>("a type"),
                       reader.number<uint64_t>("the number of sizes"), reader.number<uint64_t>("a size")});
  return headers;
}

}  // namespace

TensorMap read_marian_bin(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  ByteReader reader(file->bytes(), path);
  const std::vector<ItemHeader> headers = headers_of(reader);
  std::vector<std::string> names;
  std::vector<std::vector<int64_t>> shapes;
  for (const ItemHeader& header : headers) {
    const std::string_view name = reader.text(header.name_length, "the name of a tensor");
    require(name.size() > 1 && name.find('\0') == name.size() - 1,
            "{}: is damaged: the name of tensor {} is not a text", path, names.size());
    names.emplace_back(name.substr(0, name.size() - 1));
  }
  for (size_t i = 0; i < headers.size(); ++i) {
    require(headers[i].sizes <= max_marian_dimensions, "{}: tensor '{}' has {} dimensions", path, names[i],
            headers[i].sizes);
    auto& shape = shapes.emplace_back();
    for (uint64_t k = 0; k < headers[i].sizes; ++k) shape.push_back(reader.number<int32_t>("a shape"));
  }
  reader.take(reader.number<uint64_t>("the padding"), "the padding");
  TensorMap map(path);
  for (size_t i = 0; i < headers.size(); ++i) {
    const std::string where = fmt::format("{}: tensor '{}'", path, names[i]);
    map.add(names[i], tensor_of(headers[i], names[i], shapes[i], reader.take(headers[i].bytes, where), where));
  }
  map.keep(file);
  return map;
}

}  // namespace sixfold
