#include "formats/gguf.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/join.h"
#include "formats/byte_reader.h"
#include "formats/gguf_blocks.h"

// The format (ggml's docs/gguf.md): the magic bytes, the version, the numbers of tensors and of values; the
// values, each with key, type and contents; for each tensor name, number of dimensions, sizes with the fastest
// first, type, and its place in the data; the data, aligned.

namespace sixfold {
namespace {

enum GgufValueType : uint32_t {
  gguf_u8,
  gguf_i8,
  gguf_u16,
  gguf_i16,
  gguf_u32,
  gguf_i32,
  gguf_f32,
  gguf_bool,
  gguf_text,
  gguf_array,
  gguf_u64,
  gguf_i64,
  gguf_f64,
  gguf_type_count
};
/// The bytes of values of fixed size; of others 0.
constexpr uint64_t value_bytes[gguf_type_count] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

constexpr uint64_t max_gguf_dimensions = 8, min_tensor_bytes = 24, min_value_bytes = 13,
                   max_alignment = 1 << 20;
constexpr int max_nesting = 4;

std::string_view text_at(ByteReader& reader, std::string_view what) {
  return reader.text(reader.number<uint64_t>(what), what);
}

void skip_values(ByteReader& reader, uint32_t type, uint64_t count, int depth, std::string_view key);

/// Skips one array. Returns the type of its elements and its length.
std::pair<uint32_t, uint64_t> skip_array(ByteReader& reader, int depth, std::string_view key) {
  const auto type = reader.number<uint32_t>(key);
  const auto count = reader.number<uint64_t>(key);
  skip_values(reader, type, count, depth + 1, key);
  return {type, count};
}

void skip_values(ByteReader& reader, uint32_t type, uint64_t count, int depth, std::string_view key) {
  require(type < gguf_type_count, "{}: key '{}' has a value of the unknown type {}", reader.origin(), key,
          type);
  require(depth <= max_nesting, "{}: key '{}' has arrays that are nested too deeply", reader.origin(), key);
  if (const uint64_t bytes = value_bytes[type]) {
    require(count <= reader.left() / bytes, "{}: is truncated or damaged: key '{}' has {} values",
            reader.origin(), key, count);
    reader.take(count * bytes, key);
    return;
  }
  for (uint64_t i = 0; i < count; ++i)
    if (type == gguf_text)
      text_at(reader, key);
    else
      skip_array(reader, depth, key);
}

template <class Number>
Number number_at(std::span<const std::byte> bytes, size_t place) {
  Number number;
  std::memcpy(&number, bytes.data() + place * sizeof number, sizeof number);
  return number;
}

/// Element `place` of an array of integers or booleans; nothing for other types, and for numbers that do not
/// fit into 63 bits.
std::optional<int64_t> integer_at(uint32_t type, std::span<const std::byte> bytes, size_t place) {
  switch (type) {
    case gguf_u8:
    case gguf_bool:
      return number_at<uint8_t>(bytes, place);
    case gguf_i8:
      return number_at<int8_t>(bytes, place);
    case gguf_u16:
      return number_at<uint16_t>(bytes, place);
    case gguf_i16:
      return number_at<int16_t>(bytes, place);
    case gguf_u32:
      return number_at<uint32_t>(bytes, place);
    case gguf_i32:
      return number_at<int32_t>(bytes, place);
    case gguf_i64:
      return number_at<int64_t>(bytes, place);
    case gguf_u64: {
      const auto value = number_at<uint64_t>(bytes, place);
      return value >> 63 ? std::nullopt : std::optional(static_cast<int64_t>(value));
    }
    default:
      return std::nullopt;
  }
}

struct TensorHeader {
  std::string name;
  std::vector<int64_t> shape;
  uint32_t type = 0;
  uint64_t offset = 0;
};

TensorHeader tensor_header(ByteReader& reader) {
  TensorHeader header;
  header.name = text_at(reader, "the name of a tensor");
  const auto dimensions = reader.number<uint32_t>("a number of dimensions");
  require(dimensions <= max_gguf_dimensions, "{}: tensor '{}' has {} dimensions", reader.origin(), header.name,
          dimensions);
  for (uint32_t i = 0; i < dimensions; ++i) {
    const auto size = reader.number<uint64_t>("a size");
    require(size <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
            "{}: tensor '{}' has the size {}", reader.origin(), header.name, size);
    header.shape.insert(header.shape.begin(), static_cast<int64_t>(size));
  }
  header.type = reader.number<uint32_t>("a type");
  header.offset = reader.number<uint64_t>("a place");
  return header;
}

TensorInfo tensor_in(const TensorHeader& header, std::span<const std::byte> data, uint64_t alignment,
                     const std::string& where) {
  TensorInfo tensor{DType::f32, header.shape, {}};
  const GgufType* type = find_gguf_type(header.type);
  require(header.offset % alignment == 0 && header.offset <= data.size(),
          "{}: its place, {}, is outside the {} bytes of data or not a multiple of {}", where, header.offset,
          data.size(), alignment);
  if (!type) {
    tensor.unknown_type = fmt::format("{}, which is not known", header.type);
    return tensor;
  }
  const auto count = tensor_bytes(DType::u8, header.shape);
  const uint64_t row = header.shape.empty() ? 1 : static_cast<uint64_t>(header.shape.back());
  require(count && row % type->elements == 0, "{}: [{}] is not a valid shape for blocks of {} elements", where,
          join(header.shape), type->elements);
  const uint64_t blocks = *count / type->elements;
  require(blocks <= (data.size() - header.offset) / type->bytes,
          "{}: is truncated or damaged: {} elements of type {} are not in the file", where, *count, type->name);
  tensor.bytes = data.subspan(header.offset, blocks * type->bytes);
  if (type->plain)
    tensor.dtype = *type->plain;
  else if (type->decode)
    tensor.decode = [type](const TensorInfo& info) { return decode_blocks(*type, info.bytes); };
  else
    tensor.unknown_type = type->name;
  return tensor;
}

/// Throws if a byte belongs to two tensors: otherwise a small file could claim to be a large model.
void require_apart(const TensorMap& tensors) {
  std::vector<std::pair<const TensorInfo*, std::string>> all;
  for (const std::string& name : tensors.names())
    if (!tensors.find(name)->bytes.empty()) all.emplace_back(tensors.find(name), name);
  std::ranges::sort(all, {}, [](const auto& one) { return one.first->bytes.data(); });
  for (size_t i = 1; i < all.size(); ++i) {
    const auto before = all[i - 1].first->bytes;
    require(before.data() + before.size() <= all[i].first->bytes.data(),
            "{}: tensors '{}' and '{}' overlap; the file is damaged", tensors.origin(), all[i - 1].second,
            all[i].second);
  }
}

}  // namespace

GgufFile GgufFile::open(const std::string& path) {
  const auto mapped = std::make_shared<const MappedFile>(path);
  ByteReader reader(mapped->bytes(), path);
  GgufFile file(path);
  require(reader.text(4, "the beginning") == "GGUF", "{}: is not a GGUF file", path);
  const auto version = reader.number<uint32_t>("the version");
  require(version == 2 || version == 3, "{}: version {} of GGUF is not supported; only 2 and 3 are", path,
          version);
  const auto tensors = reader.number<uint64_t>("the number of tensors"),
             values = reader.number<uint64_t>("the number of values");
  require(tensors <= reader.left() / min_tensor_bytes && values <= reader.left() / min_value_bytes,
          "{}: is truncated or damaged: it claims {} tensors and {} values", path, tensors, values);
  for (uint64_t i = 0; i < values; ++i) {
    const std::string key(text_at(reader, "a key"));
    Value value{.type = reader.number<uint32_t>(key)};
    const size_t begin = reader.place();
    if (value.type == gguf_array)
      std::tie(value.type, value.count) = skip_array(reader, 0, key);
    else
      skip_values(reader, value.type, 1, 0, key);
    const size_t header = value.count ? sizeof(uint32_t) + sizeof(uint64_t) : 0;
    value.bytes = mapped->bytes().subspan(begin + header, reader.place() - begin - header);
    require(file.values_.emplace(key, value).second, "{}: the key '{}' occurs twice", path, key);
  }
  std::vector<TensorHeader> headers;
  for (uint64_t i = 0; i < tensors; ++i) headers.push_back(tensor_header(reader));
  constexpr std::string_view alignment_key = "general.alignment";
  const auto alignment =
      static_cast<uint64_t>(file.has(alignment_key) ? file.integer(alignment_key, 1, max_alignment) : 32);
  require(std::has_single_bit(alignment), "{}: general.alignment is {}, which is not a power of two", path,
          alignment);
  const size_t begin = std::min((reader.place() + alignment - 1) / alignment * alignment, mapped->size());
  for (const TensorHeader& header : headers)
    file.tensors_.add(header.name, tensor_in(header, mapped->bytes().subspan(begin), alignment,
                                             fmt::format("{}: tensor '{}'", path, header.name)));
  require_apart(file.tensors_);
  file.tensors_.keep(mapped);
  return file;
}

std::vector<std::string> GgufFile::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : values_) keys.push_back(key);
  return keys;
}

void GgufFile::throw_wrong(std::string_view key, std::string_view expected) const {
  throw_input_error("{}: the value of {} is not {}", path_, key, expected);
}

const GgufFile::Value& GgufFile::value(std::string_view key, bool array) const {
  const auto found = values_.find(key);
  require(found != values_.end(), "{}: has no key {}", path_, key);
  if (found->second.count.has_value() != array) throw_wrong(key, array ? "an array" : "a single value");
  return found->second;
}

int64_t GgufFile::integer(std::string_view key, int64_t min, int64_t max) const {
  const Value& found = value(key, false);
  const auto number = integer_at(found.type, found.bytes, 0);
  if (!number || *number < min || *number > max)
    throw_wrong(key, fmt::format("a whole number from {} to {}{}", min, max,
                                 number ? fmt::format(": it is {}", *number) : ""));
  return *number;
}

double GgufFile::number(std::string_view key) const {
  const Value& found = value(key, false);
  const auto whole = integer_at(found.type, found.bytes, 0);
  const double number = found.type == gguf_f32   ? number_at<float>(found.bytes, 0)
                        : found.type == gguf_f64 ? number_at<double>(found.bytes, 0)
                        : whole                  ? static_cast<double>(*whole)
                                                 : NAN;
  if (!std::isfinite(number)) throw_wrong(key, "a finite number");
  return number;
}

bool GgufFile::truth(std::string_view key) const {
  const Value& found = value(key, false);
  if (found.type != gguf_bool) throw_wrong(key, "true or false");
  return number_at<uint8_t>(found.bytes, 0) != 0;
}

std::string GgufFile::text(std::string_view key) const {
  const Value& found = value(key, false);
  if (found.type != gguf_text) throw_wrong(key, "a text");
  ByteReader reader(found.bytes, path_);
  return std::string(text_at(reader, key));
}

std::vector<std::string> GgufFile::texts(std::string_view key) const {
  const Value& found = value(key, true);
  if (found.type != gguf_text) throw_wrong(key, "an array of texts");
  ByteReader reader(found.bytes, path_);
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < *found.count; ++i) texts.emplace_back(text_at(reader, key));
  return texts;
}

std::vector<int64_t> GgufFile::integers(std::string_view key) const {
  const Value& found = value(key, true);
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < *found.count; ++i) {
    const auto number = integer_at(found.type, found.bytes, i);
    if (!number) throw_wrong(key, "an array of whole numbers");
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<float> GgufFile::floats(std::string_view key) const {
  const Value& found = value(key, true);
  if (found.type != gguf_f32) throw_wrong(key, "an array of floats");
  std::vector<float> numbers;
  for (size_t i = 0; i < *found.count; ++i) numbers.push_back(number_at<float>(found.bytes, i));
  return numbers;
}

}  // namespace sixfold
