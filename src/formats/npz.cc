#include "formats/npz.h"

#include <charconv>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/join.h"
#include "formats/zip.h"

// numpy.lib.format describes the format of a member: a magic string, a version, the length of the header,
// the header (a Python dictionary with descr, fortran_order and shape), and the elements.

namespace sixfold {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";

std::optional<DType> dtype_of(std::string_view descr) {
  constexpr std::pair<std::string_view, DType> types[] = {
      {"<f4", DType::f32}, {"<f8", DType::f64}, {"<f2", DType::f16}, {"<i4", DType::i32}, {"<i8", DType::i64},
      {"|i1", DType::i8},  {"<i1", DType::i8},  {"|u1", DType::u8},  {"<u1", DType::u8}};
  for (const auto& [name, dtype] : types)
    if (name == descr) return dtype;
  return std::nullopt;
}

/// Parses the header's dictionary.
class HeaderReader {
 public:
  HeaderReader(std::string_view header, const std::string& where) : rest_(header), where_(where) {}

  TensorInfo read() {
    std::optional<DType> dtype;
    std::optional<std::vector<int64_t>> shape;
    bool row_major = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        const std::string_view descr = quoted();
        dtype = dtype_of(descr);
        require(dtype.has_value(), "{}: elements of type {} are not supported", where_, descr);
      } else if (key == "fortran_order") {
        row_major = word() == "False";
        require(row_major, "{}: its elements are in Fortran order, which is not supported; save it in C order",
                where_);
      } else if (key == "shape") {
        shape = sizes();
      } else {
        fail();
      }
      take(',');
    }
    if (!dtype || !shape || !row_major) fail();
    return {*dtype, *shape, {}};
  }

 private:
  [[noreturn]] void fail() const { throw_input_error("{}: the header is not that of a numpy array", where_); }

  void skip_spaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_spaces();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail();
  }
  std::string_view quoted() {
    const char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    const size_t end = rest_.find(quote);
    if (end == rest_.npos) fail();
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string_view word() {
    skip_spaces();
    const std::string_view text = rest_.substr(0, std::min(rest_.find_first_of(",} "), rest_.size()));
    rest_.remove_prefix(text.size());
    return text;
  }
  std::vector<int64_t> sizes() {
    std::vector<int64_t> result;
    expect('(');
    while (!take(')')) {
      skip_spaces();
      int64_t size = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0) fail();
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      result.push_back(size);
      take(',');
    }
    return result;
  }

  std::string_view rest_;
  const std::string& where_;
};

TensorInfo parse_array(std::span<const std::byte> bytes, const std::string& where) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  require(text.size() >= 12 && text.starts_with(npy_magic), "{}: not a numpy array", where);
  const int version = text[6];
  require(version == 1 || version == 2 || version == 3, "{}: version {} of numpy's format is not supported",
          where, version);
  const size_t length_bytes = version == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i)
    length |= size_t{static_cast<unsigned char>(text[8 + i])} << (8 * i);
  const size_t begin = 8 + length_bytes;
  require(length <= text.size() - begin, "{}: the header is truncated", where);
  TensorInfo tensor = HeaderReader(text.substr(begin, length), where).read();
  tensor.bytes = bytes.subspan(begin + length);
  require(tensor_bytes(tensor.dtype, tensor.shape) == tensor.bytes.size(),
          "{}: {} bytes do not match type {} and shape [{}]", where, tensor.bytes.size(), name_of(tensor.dtype),
          join(tensor.shape));
  return tensor;
}

}  // namespace

TensorMap read_npz(const std::string& path) {
  const auto zip = std::make_shared<const ZipFile>(ZipFile::open(path));
  TensorMap map(path);
  for (const auto& [name, bytes] : zip->members()) {
    const std::string array = name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name;
    map.add(array, parse_array(bytes, fmt::format("{}: array '{}'", path, array)));
  }
  map.keep(zip);
  return map;
}

}  // namespace sixfold
