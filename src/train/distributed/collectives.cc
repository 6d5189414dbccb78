// The collective operations of `Processes`, implemented with messages between two processes.
#include <algorithm>
#include <cstring>

#include "train/distributed/processes.h"

namespace sixfold {
namespace {

constexpr size_t max_in_head = 248;  // number of bytes of a text that are sent together with its length

Processes::Buffer buffer_of(std::string_view bytes) {
  Processes::Buffer buffer(new std::byte[std::max<size_t>(bytes.size(), 1)]);
  if (!bytes.empty()) std::memcpy(buffer.get(), bytes.data(), bytes.size());
  return buffer;
}

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

/// A text is sent as a head, with its length and its beginning, and, if it is longer, as a rest.
Processes::Outgoing Processes::send_text(int to, const std::string& text) {
  const uint64_t size = text.size();
  std::string head(bytes_of(size));
  head.append(text, 0, max_in_head);
  head.resize(sizeof size + max_in_head);
  Outgoing messages{send(to, buffer_of(head), head.size())};
  if (size > max_in_head) messages.push_back(send(to, buffer_of(text.substr(max_in_head)), size - max_in_head));
  return messages;
}

Processes::Incoming Processes::expect_text(int from) {
  const Buffer head(new std::byte[sizeof(uint64_t) + max_in_head]);
  return {from, head, receive(from, head, sizeof(uint64_t) + max_in_head)};
}

std::string Processes::take_text(const Incoming& incoming) {
  wait(incoming.message);
  uint64_t size = 0;
  std::memcpy(&size, incoming.head.get(), sizeof size);
  const auto* begin = reinterpret_cast<const char*>(incoming.head.get()) + sizeof size;
  std::string text(begin, std::min<size_t>(size, max_in_head));
  if (size <= max_in_head) return text;
  const Buffer rest(new std::byte[size - max_in_head]);
  wait(receive(incoming.from, rest, size - max_in_head));
  return text.append(reinterpret_cast<const char*>(rest.get()), size - max_in_head);
}

std::vector<std::string> Processes::all_gather(const std::string& value) {
  if (size_ == 1) return {value};
  std::vector<std::string> all(static_cast<size_t>(size_));
  all[static_cast<size_t>(rank_)] = value;
  Outgoing sent;
  std::vector<Incoming> incoming;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == rank_) continue;
    const Outgoing messages = send_text(rank, value);
    sent.insert(sent.end(), messages.begin(), messages.end());
    incoming.push_back(expect_text(rank));
  }
  for (const Incoming& text : incoming) all[static_cast<size_t>(text.from)] = take_text(text);
  for (const Message message : sent) wait(message);
  return all;
}

std::vector<std::string> Processes::gather(const std::string& value) {
  if (size_ == 1) return {value};
  if (!is_root()) {
    for (const Message message : send_text(0, value)) wait(message);
    return {};
  }
  std::vector<std::string> all{value};
  std::vector<Incoming> incoming;
  for (int rank = 1; rank < size_; ++rank) incoming.push_back(expect_text(rank));
  for (const Incoming& text : incoming) all.push_back(take_text(text));
  return all;
}

std::string Processes::broadcast(const std::string& value) {
  if (size_ == 1) return value;
  if (!is_root()) return take_text(expect_text(0));
  Outgoing sent;
  for (int rank = 1; rank < size_; ++rank) {
    const Outgoing messages = send_text(rank, value);
    sent.insert(sent.end(), messages.begin(), messages.end());
  }
  for (const Message message : sent) wait(message);
  return value;
}

std::vector<std::vector<double>> Processes::all_gather_numbers(std::span<const double> values) {
  std::vector<std::vector<double>> all;
  for (const std::string& bytes :
       all_gather(std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes()))) {
    auto& numbers = all.emplace_back(bytes.size() / sizeof(double));
    if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  }
  return all;
}

double Processes::broadcast(double value) {
  const std::string bytes = broadcast(std::string(bytes_of(value)));
  std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
  return value;
}

bool Processes::any(bool value) {
  return std::ranges::any_of(all_gather(value ? "1" : ""), [](const std::string& one) { return !one.empty(); });
}

std::vector<std::string> Processes::interleave(const std::vector<std::string>& values) {
  if (size_ == 1) return values;
  std::string packed;
  for (const std::string& one : values) packed.append(bytes_of(uint64_t{one.size()})).append(one);
  const std::vector<std::string> all = all_gather(packed);
  std::vector<size_t> read(all.size(), 0);
  std::vector<std::string> elements;
  for (size_t from = 0; read[from] < all[from].size(); from = (from + 1) % all.size()) {
    uint64_t size = 0;
    std::memcpy(&size, all[from].data() + read[from], sizeof size);
    elements.push_back(all[from].substr(read[from] + sizeof size, size));
    read[from] += sizeof size + size;
  }
  return elements;
}

}  // namespace sixfold
