#include "formats/event_file.h"

#include <array>

#include "base/protobuf.h"

namespace sixfold {
namespace {

using protobuf::bytes_field;
using protobuf::double_field;
using protobuf::float_field;
using protobuf::little_endian;
using protobuf::number_field;

// Numbers of fields, in the .proto files of TensorFlow.
namespace event {
enum { wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7, source_metadata = 10 };
}
namespace value {
enum { tag = 1, simple_value = 2, tensor = 8, metadata = 9 };
}
namespace tensor {
enum { dtype = 1, shape = 2, string_val = 8 };
}
namespace metadata {
enum { plugin_data = 1, data_class = 4 };
}
constexpr uint64_t summary_value = 1, plugin_name = 1, session_status = 1, source_writer = 1, shape_dim = 2,
                   dim_size = 1;
// Values of enumerations.
constexpr uint64_t dt_string = 7, class_tensor = 2, session_start = 1;

constexpr size_t checksum_bytes = 4, record_length_bytes = 8;

constexpr std::array<uint32_t, 256> crc_table = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? 0x82F63B78u : 0);
    table[byte] = rest;
  }
  return table;
}();

/// A checksum as TFRecord files store it: a checksum of data that contain their own checksum would be weak.
std::string checksum(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return little_endian((crc >> 15 | crc << 17) + 0xA282EAD8u);
}

std::string record(std::string_view data) {
  const std::string length = little_endian(uint64_t{data.size()});
  return length + checksum(length) + std::string(data) + checksum(data);
}

std::string summary_of(const std::string& content) {
  return bytes_field(event::summary, bytes_field(summary_value, content));
}

/// Decodes a little-endian number.
uint64_t number_of(std::string_view little) {
  uint64_t number = 0;
  for (size_t i = 0; i < little.size(); ++i) number |= uint64_t{static_cast<unsigned char>(little[i])} << 8 * i;
  return number;
}

}  // namespace

EventFile::EventFile(std::function<void(std::string_view)> write, double time, std::string_view writer)
    : write_(std::move(write)) {
  add_event(0, time,
            bytes_field(event::file_version, "brain.Event:2") +
                bytes_field(event::source_metadata, bytes_field(source_writer, writer)));
}

void EventFile::add_scalar(std::string_view tag, int64_t step, double time, double number) {
  add_event(
      step, time,
      summary_of(bytes_field(value::tag, tag) + float_field(value::simple_value, static_cast<float>(number))));
}

void EventFile::add_text(std::string_view tag, int64_t step, double time, std::string_view text) {
  const std::string one_text = number_field(tensor::dtype, dt_string) +
                               bytes_field(tensor::shape, bytes_field(shape_dim, number_field(dim_size, 1))) +
                               bytes_field(tensor::string_val, text);
  const std::string shown_as_text = bytes_field(metadata::plugin_data, bytes_field(plugin_name, "text")) +
                                    number_field(metadata::data_class, class_tensor);
  add_event(step, time,
            summary_of(bytes_field(value::tag, tag) + bytes_field(value::tensor, one_text) +
                       bytes_field(value::metadata, shown_as_text)));
}

void EventFile::restart(int64_t step, double time) {
  add_event(step, time, bytes_field(event::session_log, number_field(session_status, session_start)));
}

void EventFile::add_event(int64_t step, double time, const std::string& content) {
  const std::string at = step == 0 ? "" : number_field(event::step, static_cast<uint64_t>(step));
  write_(record(double_field(event::wall_time, time) + at + content));
}

std::optional<std::string_view> take_record(std::string_view& bytes) {
  constexpr size_t head = record_length_bytes + checksum_bytes;
  if (bytes.size() < head) return std::nullopt;
  const std::string_view length = bytes.substr(0, record_length_bytes);
  const uint64_t size = number_of(length), rest = bytes.size() - head;
  if (bytes.substr(record_length_bytes, checksum_bytes) != checksum(length)) return std::nullopt;
  if (size > rest || rest - size < checksum_bytes) return std::nullopt;
  const std::string_view data = bytes.substr(head, size);
  if (bytes.substr(head + size, checksum_bytes) != checksum(data)) return std::nullopt;
  bytes.remove_prefix(head + size + checksum_bytes);
  return data;
}

std::string writer_of_events(std::string_view bytes) try {
  auto first = take_record(bytes);
  if (!first) return {};
  while (const auto field = protobuf::take_field(*first)) {
    if (field->number != event::source_metadata) continue;
    std::string_view source = field->bytes;
    while (const auto inner = protobuf::take_field(source))
      if (inner->number == source_writer) return std::string(inner->bytes);
  }
  return {};
} catch (const protobuf::Flaw&) {
  return {};
}

uint32_t crc32c(std::string_view bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const char byte : bytes) crc = crc >> 8 ^ crc_table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

}  // namespace sixfold
