#include "train/weight_exchange.h"

#include <algorithm>
#include <cstring>

#include "base/bf16.h"
#include "base/error.h"

namespace sixfold {
namespace {

/// Rounds fp32 numbers to bf16, to the nearest even.
std::shared_ptr<std::byte[]> rounded_to_bf16(const std::byte* numbers, int64_t count) {
  std::shared_ptr<std::byte[]> result(new std::byte[2 * static_cast<size_t>(count)]);
  for (int64_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, numbers + 4 * i, sizeof value);
    const uint16_t rounded = to_bf16(value);
    std::memcpy(result.get() + 2 * i, &rounded, sizeof rounded);
  }
  return result;
}

/// Expands in place the `count` bf16 numbers at the beginning of a buffer to fp32.
void expand_from_bf16(std::byte* numbers, int64_t count) {
  for (int64_t i = count - 1; i >= 0; --i) {
    uint16_t bits;
    std::memcpy(&bits, numbers + 2 * i, sizeof bits);
    const float value = from_bf16(bits);
    std::memcpy(numbers + 4 * i, &value, sizeof value);
  }
}

}  // namespace

WeightDivision WeightExchange::division(const std::vector<Parameter>& weights, int processes, bool whole) {
  std::vector<int64_t> sizes;
  for (const Parameter& weight : weights) sizes.push_back(weight.tensor.size());
  return {sizes, processes, kernel::BlockSquares::block, WeightDivision::bucket_elements, whole};
}

WeightExchange::WeightExchange(Processes& processes, ShardTree tree, std::shared_ptr<Backend> backend,
                               const std::vector<Parameter>& weights, WireType wire, bool whole)
    : processes_(processes),
      tree_(std::move(tree)),
      backend_(std::move(backend)),
      dtype_(weights.front().tensor.dtype()),
      wire_(wire),
      division_(division(weights, processes.size(), whole)) {
  require(processes.size() == 1 || backend_->is_host(), "several processes train in host memory only");
  if (processes.size() > 1)
    own_parts_ = division_.parts_of(processes.rank());
  else
    for (size_t i = 0; i < weights.size(); ++i) own_parts_.push_back({i, 0, weights[i].tensor.size()});
}

int64_t WeightExchange::max_bytes(int processes, bool whole) {
  constexpr int64_t bucket = WeightDivision::bucket_elements * int64_t{sizeof(float)};
  if (processes == 1) return 0;
  // Sent and received buckets. With whole weights, one process may own a bucket, and receives it from all
  // others.
  return (whole ? processes : 2) * static_cast<int64_t>(max_in_flight) * bucket;
}

std::vector<WeightPart> WeightExchange::parts_of(int process) const {
  return process == processes_.rank() ? own_parts_ : division_.parts_of(process);
}

void WeightExchange::start(std::vector<Tensor> tensors) {
  tensors_.clear();
  for (Tensor& tensor : tensors) tensors_.push_back(std::make_shared<const Tensor>(std::move(tensor)));
  messages_.assign(division_.buckets().size(), {});
  received_ = sent_ = added_ = released_ = 0;
  complete_from_ = tensors_.size();
}

void WeightExchange::begin(std::vector<Tensor> gradients) {
  if (processes_.size() > 1) start(std::move(gradients));
}

void WeightExchange::complete_from(size_t weight) {
  if (processes_.size() == 1) return;
  complete_from_ = weight;
  advance();
}

/// Receives, sends and adds as many buckets as possible without waiting.
void WeightExchange::advance() {
  do {
    start_messages();
  } while (add_arrived());
}

/// Adds the buckets that have arrived. Returns whether there were any, so that others can be received.
bool WeightExchange::add_arrived() {
  const size_t before = added_;
  while (added_ < std::min(sent_, received_) && has_arrived(added_)) reduce_bucket(added_++);
  return added_ > before;
}

void WeightExchange::start_messages() {
  const auto& buckets = division_.buckets();
  for (; received_ < buckets.size() && received_ - added_ < max_in_flight; ++received_)
    for_others([&](int from) { receive_gradients(buckets[received_], messages_[received_], from); });
  while (release_sent(false)) {
  }
  for (; sent_ < buckets.size() && sent_ - released_ < max_in_flight &&
         buckets[sent_].first_weight >= complete_from_;
       ++sent_)
    for_others(
        [&](int to) { send(buckets[sent_].parts[static_cast<size_t>(to)], to, wire_, messages_[sent_]); });
}

/// Receives the gradients of the parts that this process owns, one after the other in a buffer.
void WeightExchange::receive_gradients(const Bucket& bucket, BucketMessages& messages, int from) {
  const auto& parts = bucket.parts[static_cast<size_t>(processes_.rank())];
  if (parts.empty()) return;
  // The buffer has room for fp32 numbers, to which bf16 numbers are expanded in place.
  Incoming incoming{
      from, take_buffer(static_cast<size_t>(bucket.elements(processes_.rank())) * size_of(dtype_)), {}};
  std::byte* next = incoming.buffer.get();
  for (const WeightPart& part : parts) {
    const size_t bytes = bytes_of(part, wire_);
    incoming.messages.push_back(processes_.receive(from, Processes::Buffer(incoming.buffer, next), bytes));
    next += bytes;
  }
  messages.incoming.push_back(std::move(incoming));
}

/// Sends parts to a process, without a copy unless they have to be rounded.
void WeightExchange::send(const std::vector<WeightPart>& parts, int to, WireType wire,
                          BucketMessages& messages) {
  for (const WeightPart& part : parts) {
    Processes::Buffer elements = buffer_of(part);
    if (wire == WireType::bf16) elements = rounded_to_bf16(elements.get(), part.count);
    messages.outgoing.push_back(processes_.send(to, std::move(elements), bytes_of(part, wire)));
  }
}

/// The elements of a part as a buffer, which keeps their tensor alive.
Processes::Buffer WeightExchange::buffer_of(const WeightPart& part) const {
  return {tensors_[part.weight], static_cast<std::byte*>(view_of(part).data)};
}

/// Returns a buffer that is no longer in use, or a new one.
Processes::Buffer WeightExchange::take_buffer(size_t bytes) {
  for (auto& [buffer, size] : buffers_)
    if (buffer.use_count() == 1 && size >= bytes) return buffer;
  buffers_.emplace_back(Processes::Buffer(new std::byte[bytes]), bytes);
  return buffers_.back().first;
}

bool WeightExchange::has_arrived(size_t bucket) {
  return std::ranges::all_of(messages_[bucket].incoming, [&](const Incoming& incoming) {
    return std::ranges::all_of(incoming.messages, [&](auto message) { return processes_.done(message); });
  });
}

void WeightExchange::finish() {
  if (processes_.size() == 1) return;
  complete_from_ = 0;
  advance();
  while (added_ < division_.buckets().size()) {
    // Waiting here is safe, because the other processes send this bucket before they wait for later ones.
    if (added_ < std::min(sent_, received_))
      reduce_bucket(added_++);
    else
      release_sent(true);
    advance();
  }
  while (released_ < sent_) release_sent(true);
  tensors_.clear();
}

/// Adds the gradients of the parts that this process owns, by the tree of shards.
void WeightExchange::reduce_bucket(size_t bucket) {
  const auto& parts = division_.buckets()[bucket].parts[static_cast<size_t>(processes_.rank())];
  std::vector<std::byte*> sums(static_cast<size_t>(processes_.size()),
                               nullptr);  // null: those in the gradients
  int64_t elements = 0;
  for (const WeightPart& part : parts) elements += part.count;
  for (const Incoming& incoming : messages_[bucket].incoming) {
    for (const Processes::Message message : incoming.messages) processes_.wait(message);
    if (wire_ == WireType::bf16) expand_from_bf16(incoming.buffer.get(), elements);
    sums[static_cast<size_t>(incoming.from)] = incoming.buffer.get();
  }
  if (parts.empty()) return;
  for (const ShardTree::Addition& addition : tree_.additions()) {
    int64_t begin = 0;
    for (const WeightPart& part : parts) {
      const auto view = [&](int process) {
        std::byte* sum = sums[static_cast<size_t>(process)];
        if (!sum) return view_of(part);
        return View{sum + begin * static_cast<int64_t>(size_of(dtype_)), dtype_, 1, part.count, part.count};
      };
      backend_->run(kernel::Add{view(addition.left), view(addition.left), view(addition.right)});
      begin += part.count;
    }
  }
  for (const WeightPart& part : parts) {
    if (!sums[0]) break;
    const size_t bytes = bytes_of(part, WireType::fp32);
    backend_->upload(view_of(part).data, {sums[0], bytes});
    sums[0] += bytes;
  }
  messages_[bucket].incoming.clear();
}

/// Releases the messages of the next bucket, if they are sent. Returns whether it did.
bool WeightExchange::release_sent(bool wait) {
  if (released_ == sent_) return false;
  auto& messages = messages_[released_].outgoing;
  for (; !messages.empty(); messages.pop_back()) {
    if (!wait && !processes_.done(messages.back())) return false;
    processes_.wait(messages.back());
  }
  ++released_;
  return true;
}

void WeightExchange::share(std::vector<Tensor> tensors) {
  if (processes_.size() == 1) return;
  start(std::move(tensors));
  const auto& buckets = division_.buckets();
  for (; added_ < buckets.size(); ++added_) {
    for (; sent_ < buckets.size() && sent_ - added_ < max_in_flight; ++sent_)
      for_others([&](int other) {
        const auto& parts = buckets[sent_].parts;
        send(parts[static_cast<size_t>(processes_.rank())], other, WireType::fp32, messages_[sent_]);
        for (const WeightPart& part : parts[static_cast<size_t>(other)])
          messages_[sent_].outgoing.push_back(
              processes_.receive(other, buffer_of(part), bytes_of(part, WireType::fp32)));
      });
    release_sent(true);
  }
  tensors_.clear();
}

size_t WeightExchange::bytes_of(const WeightPart& part, WireType wire) const {
  return static_cast<size_t>(part.count) * (wire == WireType::bf16 ? 2 : size_of(dtype_));
}

View WeightExchange::view_of(const WeightPart& part) const {
  const View whole = tensors_[part.weight]->view();
  const int64_t elements = whole.rows * whole.cols;
  return View{whole.data, whole.dtype, 1, elements, elements}.slice_cols(part.begin, part.count);
}

template <class Use>
void WeightExchange::for_others(const Use& use) const {
  for (int process = 0; process < processes_.size(); ++process)
    if (process != processes_.rank()) use(process);
}

}  // namespace sixfold
