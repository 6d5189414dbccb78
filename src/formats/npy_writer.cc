#include "formats/npy_writer.h"

#include <bit>

#include "base/error.h"

namespace sixfold {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie in memory");

/// The header of an array. It has the same size whatever the shape, a multiple of 64 as the format asks for.
std::string header_of(int64_t rows, int64_t columns) {
  constexpr size_t bytes = 128, before_text = 10;
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  text.resize(bytes - before_text - 1, ' ');
  text += '\n';
  const auto size = static_cast<char>(text.size());
  return std::string("\x93NUMPY\x01\x00", 8) + size + '\0' + text;
}

}  // namespace

NpyWriter::NpyWriter(const std::string& path, int64_t columns) : file_(path), columns_(columns) {
  file_.write(header_of(0, columns));
}

void NpyWriter::write(std::span<const float> row) {
  require(std::ssize(row) == columns_, "a row has {} values, but the array {} columns", row.size(), columns_);
  file_.write(std::as_bytes(row));
  ++rows_;
}

void NpyWriter::close() {
  file_.overwrite(0, header_of(rows_, columns_));
  file_.commit();
}

}  // namespace sixfold
