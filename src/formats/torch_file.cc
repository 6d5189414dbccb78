#include "formats/torch_file.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "formats/pickle.h"
#include "formats/zip.h"

namespace sixfold {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = PickleValue::Kind;

/// A storage: a range of elements that tensors refer to.
struct Storage {
  std::string key;
  DType dtype;
  uint64_t elements;
};

/// A tensor whose storage has not been located yet.
struct UnresolvedTensor {
  Storage storage;
  uint64_t offset = 0;  ///< in elements
  std::vector<int64_t> shape;
};

using UnresolvedTensors = std::vector<std::pair<std::string, UnresolvedTensor>>;
using StorageBytes = std::map<std::string, Bytes, std::less<>>;

std::optional<DType> dtype_of_storage(std::string_view name) {
  constexpr std::pair<std::string_view, DType> types[] = {
      {"torch.FloatStorage", DType::f32}, {"torch.DoubleStorage", DType::f64},
      {"torch.HalfStorage", DType::f16},  {"torch.BFloat16Storage", DType::bf16},
      {"torch.LongStorage", DType::i64},  {"torch.IntStorage", DType::i32},
      {"torch.CharStorage", DType::i8},   {"torch.ByteStorage", DType::u8},
      {"torch.BoolStorage", DType::u8}};
  for (const auto& [known, dtype] : types)
    if (known == name) return dtype;
  return std::nullopt;
}

/// An item of a tuple. Throws unless the item has that kind.
const PickleValue& item(const PickleValue& tuple, size_t index, Kind kind, const std::string& where) {
  require(tuple.kind == Kind::list && index < tuple.items.size() && tuple.items[index]->kind == kind,
          "{}: is not a tensor in the form that torch.save writes", where);
  return *tuple.items[index];
}

uint64_t size_at(const PickleValue& tuple, size_t index, const std::string& where) {
  const int64_t size = item(tuple, index, Kind::integer, where).integer;
  require(size >= 0, "{}: a size is {}", where, size);
  return static_cast<uint64_t>(size);
}

/// Parses ('storage', class, key, location, elements).
Storage storage_of(const PickleValue& reference, const std::string& where) {
  const PickleValue& tuple = item(reference, 0, Kind::list, where);
  require(item(tuple, 0, Kind::text, where).text == "storage",
          "{}: is not a storage in the form that torch.save writes", where);
  const std::string_view type = item(tuple, 1, Kind::global, where).text;
  const auto dtype = dtype_of_storage(type);
  require(dtype.has_value(), "{}: elements of type {} are not supported", where, type);
  require(tuple.items.size() < 6 || tuple.items[5]->kind == Kind::none,
          "{}: views of a storage are not supported", where);
  return {std::string(item(tuple, 2, Kind::text, where).text), *dtype, size_at(tuple, 4, where)};
}

/// Parses _rebuild_tensor_v2(storage, offset, shape, strides, ...), also inside _rebuild_parameter(tensor,
/// ...).
UnresolvedTensor parse_tensor(const PickleValue& value, const std::string& where) {
  require(value.kind == Kind::call, "{}: is not a tensor", where);
  const std::string_view function = value.items[0]->text;
  const PickleValue& arguments = *value.items[1];
  if (function == "torch._utils._rebuild_parameter") {
    const PickleValue& tensor = item(arguments, 0, Kind::call, where);
    require(tensor.items[0]->text != function, "{}: is not a tensor", where);
    return parse_tensor(tensor, where);
  }
  require(function == "torch._utils._rebuild_tensor_v2",
          "{}: is created by {}, which does not create tensors; such files are refused", where, function);
  const PickleValue& shape = item(arguments, 2, Kind::list, where);
  const PickleValue& strides = item(arguments, 3, Kind::list, where);
  PickleValue reference;  // a tuple, as `item` needs it
  reference.kind = Kind::list;
  reference.items = item(arguments, 0, Kind::persistent, where).items;
  UnresolvedTensor unresolved{storage_of(reference, where), size_at(arguments, 1, where), {}};
  uint64_t stride = 1;
  require(strides.items.size() == shape.items.size(), "{}: shape and strides differ in length", where);
  for (size_t i = shape.items.size(); i-- > 0;) {
    const uint64_t size = size_at(shape, i, where);
    require(size == 1 || size_at(strides, i, where) == stride,
            "{}: is not contiguous; save it as tensor.contiguous()", where);
    require(!__builtin_mul_overflow(stride, std::max<uint64_t>(size, 1), &stride), "{}: is too large", where);
    unresolved.shape.insert(unresolved.shape.begin(), static_cast<int64_t>(size));
  }
  return unresolved;
}

UnresolvedTensors parse_tensors(const PickleValue& dictionary, const std::string& path) {
  require(dictionary.kind == Kind::dictionary, "{}: is not a dictionary of tensors, such as model.state_dict()",
          path);
  UnresolvedTensors tensors;
  for (size_t i = 0; i < dictionary.items.size(); i += 2) {
    const PickleValue& key = *dictionary.items[i];
    require(key.kind == Kind::text, "{}: the name of a tensor is not a string", path);
    const std::string name(key.text);
    tensors.emplace_back(name,
                         parse_tensor(*dictionary.items[i + 1], fmt::format("{}: tensor '{}'", path, name)));
  }
  return tensors;
}

void add_tensors(TensorMap& map, const UnresolvedTensors& tensors, const StorageBytes& storages) {
  uint64_t stored = 0, named = 0;
  for (const auto& [key, bytes] : storages) stored += bytes.size();
  for (const auto& [name, unresolved] : tensors) {
    const auto storage = storages.find(unresolved.storage.key);
    require(storage != storages.end(), "{}: tensor '{}': its storage '{}' is missing", map.origin(), name,
            unresolved.storage.key);
    const auto bytes = tensor_bytes(unresolved.storage.dtype, unresolved.shape);
    uint64_t begin = 0;
    require(bytes && !__builtin_mul_overflow(unresolved.offset, size_of(unresolved.storage.dtype), &begin) &&
                begin <= storage->second.size() && *bytes <= storage->second.size() - begin,
            "{}: tensor '{}' exceeds its storage; the file is damaged", map.origin(), name);
    named += *bytes;
    require(named <= names_of_tied * stored,
            "{}: its tensors have more than {} times as many bytes as the file; it is damaged", map.origin(),
            names_of_tied);
    map.add(name, {unresolved.storage.dtype, unresolved.shape, storage->second.subspan(begin, *bytes)});
  }
}

/// Reads the zip archive. Its one folder has data.pkl, and the storages in the subfolder data.
TensorMap read_archive(const std::string& path) {
  const auto zip = std::make_shared<const ZipFile>(ZipFile::open(path));
  constexpr std::string_view pickle_name = "/data.pkl";
  std::string folder;
  for (const auto& [name, bytes] : zip->members())
    if (name.ends_with(pickle_name)) folder = name.substr(0, name.size() - pickle_name.size());
  require(!folder.empty(), "{}: is an archive without data.pkl, not a file of torch.save", path);
  StorageBytes storages;
  for (const auto& [name, bytes] : zip->members()) {
    const std::string prefix = folder + "/data/";
    if (name.starts_with(prefix)) storages[name.substr(prefix.size())] = bytes;
    if (name == folder + "/byteorder")
      require(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == "little",
              "{}: its numbers are big endian, which is not supported", path);
  }
  const Pickle pickle(zip->members().find(folder + std::string(pickle_name))->second, path + ": data.pkl");
  TensorMap map(path);
  add_tensors(map, parse_tensors(pickle.value(), path), storages);
  map.keep(zip);
  return map;
}

constexpr int64_t legacy_magic =
    static_cast<int64_t>(0xA86A20F9469CFC6C);  // the lower 64 bits of the magic number

/// Reads the old format: pickles of a magic number, a version, properties of the machine, the dictionary, and
/// the keys of the storages. The storages follow in the order of their keys, each after its number of elements.
TensorMap read_legacy(const std::string& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  Bytes rest = file->bytes();
  const auto next = [&](const char* part) {
    Pickle pickle(rest, fmt::format("{}: {}", path, part));
    rest = rest.subspan(pickle.size());
    return pickle;
  };
  const Pickle magic = next("magic number");
  require(magic.value().kind == Kind::integer && magic.value().integer == legacy_magic,
          "{}: is not a file of torch.save", path);
  next("version");
  next("system");
  const Pickle dictionary = next("tensors");
  const UnresolvedTensors tensors = parse_tensors(dictionary.value(), path);
  const Pickle keys = next("keys");
  require(keys.value().kind == Kind::list, "{}: the keys of its storages are missing", path);

  std::map<std::string, DType, std::less<>> types;
  for (const auto& [name, unresolved] : tensors)
    types.emplace(unresolved.storage.key, unresolved.storage.dtype);
  StorageBytes storages;
  for (size_t i = 0; i < keys.value().items.size(); ++i) {
    const std::string key(item(keys.value(), i, Kind::text, path).text);
    const auto type = types.find(key);
    require(type != types.end(), "{}: storage '{}' does not belong to any tensor", path, key);
    uint64_t elements = 0, bytes = 0;
    require(rest.size() >= sizeof elements, "{}: the file is truncated", path);
    std::memcpy(&elements, rest.data(), sizeof elements);
    rest = rest.subspan(sizeof elements);
    require(!__builtin_mul_overflow(elements, size_of(type->second), &bytes) && bytes <= rest.size(),
            "{}: the file is truncated in storage '{}'", path, key);
    storages[key] = rest.subspan(0, bytes);
    rest = rest.subspan(bytes);
  }
  TensorMap map(path);
  add_tensors(map, tensors, storages);
  map.keep(file);
  return map;
}

}  // namespace

TensorMap read_torch(const std::string& path) {
  const MappedFile file(path);
  return ZipFile::has_magic(file.bytes()) ? read_archive(path) : read_legacy(path);
}

}  // namespace sixfold
