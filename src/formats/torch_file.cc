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

/// A run of elements that tensors lie in.
struct Storage {
  std::string key;
  DType dtype;
  uint64_t elements;
};

/// A tensor, before it is known where its storage lies.
struct Placed {
  Storage storage;
  uint64_t offset = 0;  ///< in elements
  std::vector<int64_t> shape;
};

using PlacedTensors = std::vector<std::pair<std::string, Placed>>;
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

/// The item of a tuple, of that kind.
const PickleValue& item(const PickleValue& tuple, size_t index, Kind kind, const std::string& where) {
  require(tuple.kind == Kind::list && index < tuple.items.size() && tuple.items[index]->kind == kind,
          "{}: this is no tensor as torch.save writes it", where);
  return *tuple.items[index];
}

uint64_t size_at(const PickleValue& tuple, size_t index, const std::string& where) {
  const int64_t size = item(tuple, index, Kind::integer, where).integer;
  require(size >= 0, "{}: a size is {}", where, size);
  return static_cast<uint64_t>(size);
}

/// ('storage', class, key, location, elements)
Storage storage_of(const PickleValue& reference, const std::string& where) {
  const PickleValue& tuple = item(reference, 0, Kind::list, where);
  require(item(tuple, 0, Kind::text, where).text == "storage", "{}: this is no storage as torch.save writes it",
          where);
  const std::string_view type = item(tuple, 1, Kind::global, where).text;
  const auto dtype = dtype_of_storage(type);
  require(dtype.has_value(), "{}: elements of {} are not read here", where, type);
  require(tuple.items.size() < 6 || tuple.items[5]->kind == Kind::none,
          "{}: a view of a storage is not read here", where);
  return {std::string(item(tuple, 2, Kind::text, where).text), *dtype, size_at(tuple, 4, where)};
}

/// _rebuild_tensor_v2(storage, offset, shape, strides, ...), also inside _rebuild_parameter(tensor, ...).
Placed placed_tensor(const PickleValue& value, const std::string& where) {
  require(value.kind == Kind::call, "{}: it is no tensor", where);
  const std::string_view function = value.items[0]->text;
  const PickleValue& arguments = *value.items[1];
  if (function == "torch._utils._rebuild_parameter") {
    const PickleValue& tensor = item(arguments, 0, Kind::call, where);
    require(tensor.items[0]->text != function, "{}: it is no tensor", where);
    return placed_tensor(tensor, where);
  }
  require(function == "torch._utils._rebuild_tensor_v2",
          "{}: made by {}, which is none of the functions that make tensors; it is refused", where, function);
  const PickleValue& shape = item(arguments, 2, Kind::list, where);
  const PickleValue& strides = item(arguments, 3, Kind::list, where);
  PickleValue reference;  // `item` looks into tuples
  reference.kind = Kind::list;
  reference.items = item(arguments, 0, Kind::persistent, where).items;
  Placed placed{storage_of(reference, where), size_at(arguments, 1, where), {}};
  uint64_t stride = 1;
  require(strides.items.size() == shape.items.size(), "{}: shape and strides differ in length", where);
  for (size_t i = shape.items.size(); i-- > 0;) {
    const uint64_t size = size_at(shape, i, where);
    require(size == 1 || size_at(strides, i, where) == stride,
            "{}: its elements don't lie in order; save it as tensor.contiguous()", where);
    require(!__builtin_mul_overflow(stride, std::max<uint64_t>(size, 1), &stride), "{}: it is too large",
            where);
    placed.shape.insert(placed.shape.begin(), static_cast<int64_t>(size));
  }
  return placed;
}

PlacedTensors placed_tensors(const PickleValue& dictionary, const std::string& path) {
  require(dictionary.kind == Kind::dictionary, "{}: no dictionary of tensors, as model.state_dict() is", path);
  PlacedTensors tensors;
  for (size_t i = 0; i < dictionary.items.size(); i += 2) {
    const PickleValue& key = *dictionary.items[i];
    require(key.kind == Kind::text, "{}: a tensor's name is no text", path);
    const std::string name(key.text);
    tensors.emplace_back(name,
                         placed_tensor(*dictionary.items[i + 1], fmt::format("{}: tensor '{}'", path, name)));
  }
  return tensors;
}

void add_tensors(TensorMap& map, const PlacedTensors& tensors, const StorageBytes& storages) {
  for (const auto& [name, placed] : tensors) {
    const auto storage = storages.find(placed.storage.key);
    require(storage != storages.end(), "{}: tensor '{}': its storage '{}' is missing", map.origin(), name,
            placed.storage.key);
    const auto bytes = tensor_bytes(placed.storage.dtype, placed.shape);
    uint64_t begin = 0;
    require(bytes && !__builtin_mul_overflow(placed.offset, size_of(placed.storage.dtype), &begin) &&
                begin <= storage->second.size() && *bytes <= storage->second.size() - begin,
            "{}: tensor '{}' does not lie in its storage; the file is damaged", map.origin(), name);
    map.add(name, {placed.storage.dtype, placed.shape, storage->second.subspan(begin, *bytes)});
  }
}

/// The archive has a folder with data.pkl, and the storages in its folder data.
TensorMap read_archive(const std::string& path) {
  const auto zip = std::make_shared<const ZipFile>(ZipFile::open(path));
  constexpr std::string_view pickle_name = "/data.pkl";
  std::string folder;
  for (const auto& [name, bytes] : zip->members())
    if (name.ends_with(pickle_name)) folder = name.substr(0, name.size() - pickle_name.size());
  require(!folder.empty(), "{}: an archive without data.pkl; torch.save didn't write it", path);
  StorageBytes storages;
  for (const auto& [name, bytes] : zip->members()) {
    const std::string prefix = folder + "/data/";
    if (name.starts_with(prefix)) storages[name.substr(prefix.size())] = bytes;
    if (name == folder + "/byteorder")
      require(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == "little",
              "{}: its numbers are big endian, which is not read here", path);
  }
  const Pickle pickle(zip->members().find(folder + std::string(pickle_name))->second, path + ": data.pkl");
  TensorMap map(path);
  add_tensors(map, placed_tensors(pickle.value(), path), storages);
  map.keep(zip);
  return map;
}

constexpr int64_t legacy_magic = static_cast<int64_t>(0xA86A20F9469CFC6C);  // the low half of what is written

/// Pickles of a magic number, a version, facts of the machine, the dictionary, and the keys of the storages,
/// which follow in that order, each with its number of elements before it.
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
          "{}: torch.save didn't write it", path);
  next("version");
  next("system");
  const Pickle dictionary = next("tensors");
  const PlacedTensors tensors = placed_tensors(dictionary.value(), path);
  const Pickle keys = next("keys");
  require(keys.value().kind == Kind::list, "{}: the keys of its storages are missing", path);

  std::map<std::string, DType, std::less<>> types;
  for (const auto& [name, placed] : tensors) types.emplace(placed.storage.key, placed.storage.dtype);
  StorageBytes storages;
  for (size_t i = 0; i < keys.value().items.size(); ++i) {
    const std::string key(item(keys.value(), i, Kind::text, path).text);
    const auto type = types.find(key);
    require(type != types.end(), "{}: storage '{}' belongs to no tensor", path, key);
    uint64_t elements = 0, bytes = 0;
    require(rest.size() >= sizeof elements, "{}: the file is cut short", path);
    std::memcpy(&elements, rest.data(), sizeof elements);
    rest = rest.subspan(sizeof elements);
    require(!__builtin_mul_overflow(elements, size_of(type->second), &bytes) && bytes <= rest.size(),
            "{}: the file is cut short in storage '{}'", path, key);
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
  return ZipFile::looks_like_one(file.bytes()) ? read_archive(path) : read_legacy(path);
}

}  // namespace sixfold
