#include "formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/join.h"
#include "base/json.h"

namespace sixfold {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors files are little endian");

namespace {

constexpr size_t length_bytes = 8;
constexpr uint64_t max_header_bytes = 100'000'000;  // the format's own limit
constexpr std::string_view metadata_key = "__metadata__";
const std::string checksum_key = "sixfold.xxh3_128";

/// Parses one entry of the header. `where`, the file and the tensor, begins error messages.
TensorInfo parse_entry(const json& entry, std::span<const std::byte> data, const std::string& where) {
  require(entry.is_object() && entry.size() == 3 && entry.contains("dtype") && entry.contains("shape") &&
              entry.contains("data_offsets"),
          "{}: expected an entry with dtype, shape and data_offsets", where);
  const json& type = entry["dtype"];
  require(type.is_string(), "{}: its type is {}, which is not a name", where, type.dump());
  const auto dtype = dtype_from_name(type.get<std::string>());
  TensorInfo tensor{dtype.value_or(DType::u8), {}, {}};
  if (!dtype) tensor.unknown_type = type.get<std::string>();
  require(entry["shape"].is_array(), "{}: the shape is not a list", where);
  for (const json& size : entry["shape"]) {
    require(size.is_number_unsigned() && size.get<uint64_t>() <= std::numeric_limits<int64_t>::max(),
            "{}: the shape contains {}, which is not a size", where, size.dump());
    tensor.shape.push_back(size.get<int64_t>());
  }
  const json& offsets = entry["data_offsets"];
  require(offsets.is_array() && offsets.size() == 2 && offsets[0].is_number_unsigned() &&
              offsets[1].is_number_unsigned(),
          "{}: data_offsets must be two whole numbers", where);
  const uint64_t begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  require(begin <= end && end <= data.size(), "{}: bytes {} to {} are outside the file's {} bytes of data",
          where, begin, end, data.size());
  require(!dtype || tensor_bytes(*dtype, tensor.shape) == end - begin,
          "{}: {} bytes do not match type {} and shape [{}]", where, end - begin, name_of(tensor.dtype),
          join(tensor.shape));
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

std::map<std::string, std::string> parse_metadata(const json& entry, const std::string& path) {
  std::map<std::string, std::string> metadata;
  require(entry.is_object(), "{}: the metadata must be an object", path);
  for (const auto& [key, value] : entry.items()) {
    require(value.is_string(), "{}: the metadata entry '{}' must be a string", path, key);
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

/// Checks that every byte of the data belongs to one tensor. `names` are in the order of the tensors.
void require_no_gaps(const std::vector<std::string>& names,
                     const std::map<std::string, TensorInfo, std::less<>>& tensors,
                     std::span<const std::byte> data, const std::string& path) {
  const std::byte* end = data.data();
  for (const std::string& name : names) {
    const auto bytes = tensors.at(name).bytes;
    require(bytes.data() == end, "{}: tensor '{}': its bytes {} those before", path, name,
            bytes.data() < end ? "overlap" : "leave a gap after");
    end = bytes.data() + bytes.size();
  }
  require(end == data.data() + data.size(),
          "{}: the last {} bytes do not belong to any tensor; the file is damaged", path,
          data.data() + data.size() - end);
}

/// A value as JSON for the header of a file.
std::string text_of(const json& value, const std::string& path) {
  try {
    return value.dump();
  } catch (const json::type_error&) {
    throw_input_error("{}: a name or the metadata are not valid UTF-8, which the format requires", path);
  }
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file(path);
  const auto bytes = file.file_.bytes();
  require(bytes.size() >= length_bytes, "{}: too short for a safetensors file", path);
  uint64_t header_length;
  std::memcpy(&header_length, bytes.data(), length_bytes);
  require(header_length <= max_header_bytes && header_length <= bytes.size() - length_bytes,
          "{}: not a safetensors file, or truncated: a header of {} bytes does not fit into its {} bytes", path,
          header_length, bytes.size());
  const auto header_bytes = bytes.subspan(length_bytes, header_length);
  const auto data = file.data_ = bytes.subspan(length_bytes + header_length);
  const json header =
      parse_json({reinterpret_cast<const char*>(header_bytes.data()), header_bytes.size()}, path + ": header");
  require(header.is_object(), "{}: the header is not a JSON object", path);

  for (const auto& [name, entry] : header.items()) {
    if (name == metadata_key) {
      file.metadata_ = parse_metadata(entry, path);
    } else {
      file.tensors_.emplace(name, parse_entry(entry, data, fmt::format("{}: tensor '{}'", path, name)));
      file.names_.push_back(name);
    }
  }
  // A tensor without elements ends where it begins, so ties are ordered by the end.
  std::stable_sort(file.names_.begin(), file.names_.end(), [&](const std::string& a, const std::string& b) {
    const auto left = file.tensors_.at(a).bytes, right = file.tensors_.at(b).bytes;
    return std::pair(left.data(), left.size()) < std::pair(right.data(), right.size());
  });
  require_no_gaps(file.names_, file.tensors_, data, path);
  return file;
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const TensorInfo& SafetensorsFile::at(std::string_view name) const {
  if (const TensorInfo* tensor = find(name)) return of_known_type(*tensor, path_, name);
  throw_no_tensor(path_, name, names_);
}

TensorMap read_safetensors(const std::string& path) {
  const auto file = std::make_shared<const SafetensorsFile>(SafetensorsFile::open(path));
  TensorMap map(path);
  for (const std::string& name : file->names()) map.add(name, *file->find(name));
  map.keep(file);
  return map;
}

TensorMap read_sharded_safetensors(const std::string& index_path) {
  const json index = parse_json(read_regular_file(index_path), index_path);
  require(index.is_object() && index.contains("weight_map") && index["weight_map"].is_object(),
          "{}: has no weight_map, which says which file contains which tensor", index_path);
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> files;
  TensorMap map(index_path);
  for (const auto& [name, entry] : index["weight_map"].items()) {
    require(entry.is_string(), "{}: the file name of tensor '{}' must be a string", index_path, name);
    const std::string file_name = entry.get<std::string>();
    require(
        !file_name.empty() && file_name.find('/') == file_name.npos && file_name != "." && file_name != "..",
        "{}: '{}' is not the name of a file in the same folder", index_path, file_name);
    auto& file = files[file_name];
    if (!file) {
      const auto path = std::filesystem::path(index_path).parent_path() / file_name;
      file = std::make_shared<const SafetensorsFile>(SafetensorsFile::open(path.string()));
      map.keep(file);
    }
    const TensorInfo* tensor = file->find(name);
    if (!tensor) throw_no_tensor(file->path(), name, file->names());
    map.add(name, *tensor);
  }
  for (const auto& [file_name, file] : files)
    for (const std::string& name : file->names())
      require(map.find(name), "{}: tensor '{}' of {} is not in the index", index_path, name, file_name);
  return map;
}

std::string SafetensorsFile::checksum() const {
  const auto found = metadata_.find(checksum_key);
  return found == metadata_.end() ? "" : found->second;
}

std::string SafetensorsFile::computed_checksum() const {
  HashStream hash;
  for (auto left = data_; !left.empty();) {
    const auto part = left.first(std::min(left.size(), pages_at_once));
    hash.add(part);
    left = left.subspan(part.size());
    if (part.size() == pages_at_once) release_pages();
  }
  return hash.hex();
}

void SafetensorsFile::verify() const {
  const std::string stored = checksum();
  if (stored.empty()) return;
  const std::string now = computed_checksum();
  require(stored == now,
          "{}: is damaged: the checksum of its tensors is {}, but was {} when they were written; use a copy "
          "that is intact",
          path_, now, stored);
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::span<const TensorEntry> tensors,
                                     std::map<std::string, std::string> metadata)
    : file_(path) {
  const std::string placeholder(hash_hex({}).size(), '?');
  metadata[std::string(checksum_key)] = placeholder;
  std::vector<std::string> entries{fmt::format("\"{}\":{}", metadata_key, text_of(metadata, path))};
  std::set<std::string> names{std::string(metadata_key)};
  uint64_t begin = 0;
  for (const TensorEntry& tensor : tensors) {
    require(names.insert(tensor.name).second, "{}: '{}' is not a valid name for a tensor, or is used twice",
            path, tensor.name);
    const auto size = tensor_bytes(tensor.dtype, tensor.shape);
    require(size.has_value(), "{}: tensor '{}': [{}] is not a valid shape", path, tensor.name,
            join(tensor.shape));
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  text_of(tensor.name, path), name_of(tensor.dtype), join(tensor.shape, ","),
                                  begin, begin + *size));
    begin += *size;
    sizes_.push_back(*size);
  }
  std::string header = fmt::format("{{{}}}", join(entries, ","));
  header.resize((header.size() + 7) / 8 * 8, ' ');  // aligns the data to eight bytes
  require(header.size() <= max_header_bytes, "{}: too many tensors for a safetensors header", path);
  checksum_offset_ = static_cast<int64_t>(length_bytes + header.find(placeholder));
  const uint64_t header_length = header.size();
  file_.write(std::as_bytes(std::span(&header_length, 1)));
  file_.write(header);
}

void SafetensorsWriter::add(const void* data) {
  const std::span bytes(static_cast<const std::byte*>(data), sizes_.at(added_++));
  hash_.add(bytes);
  file_.write(bytes);
}

void SafetensorsWriter::commit() {
  file_.overwrite(checksum_offset_, hash_.hex());
  file_.commit();
}

void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<TensorEntry> entries;
  for (const NamedTensor& tensor : tensors) entries.push_back({tensor.name, tensor.dtype, tensor.shape});
  SafetensorsWriter writer(path, entries, metadata);
  for (const NamedTensor& tensor : tensors) writer.add(tensor.data);
  writer.commit();
}

}  // namespace sixfold
