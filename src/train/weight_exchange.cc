#include "train/weight_exchange.h"

#include <algorithm>

#include "base/error.h"
#include "train/wire.h"

namespace sixfold {

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
    own_ = division_.parts_of(processes.rank());
  else
    for (size_t i = 0; i < weights.size(); ++i) own_.push_back({i, 0, weights[i].tensor.size()});
}

int64_t WeightExchange::most_bytes(int processes, bool whole) {
  constexpr int64_t bucket = WeightDivision::bucket_elements * int64_t{sizeof(float)};
  if (processes == 1) return 0;
  // Sent and received: the owner of a whole bucket receives it from each of the others.
  return (whole ? processes : 2) * static_cast<int64_t>(most_under_way) * bucket;
}

std::vector<WeightPart> WeightExchange::parts_of(int process) const {
  return process == processes_.rank() ? own_ : division_.parts_of(process);
}

void WeightExchange::start(std::vector<Tensor> tensors) {
  tensors_.clear();
  for (Tensor& tensor : tensors) tensors_.push_back(std::make_shared<const Tensor>(std::move(tensor)));
  traffic_.assign(division_.buckets().size(), {});
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
  while (added_ < std::min(sent_, received_) && has_arrived(added_)) add_up(added_++);
  return added_ > before;
}

void WeightExchange::start_messages() {
  const auto& buckets = division_.buckets();
  for (; received_ < buckets.size() && received_ - added_ < most_under_way; ++received_)
    for_others([&](int from) { receive_gradients(buckets[received_], traffic_[received_], from); });
  while (release_sent(false)) {
  }
  for (; sent_ < buckets.size() && sent_ - released_ < most_under_way &&
         buckets[sent_].first_weight >= complete_from_;
       ++sent_)
    for_others(
        [&](int to) { send(buckets[sent_].parts[static_cast<size_t>(to)], to, wire_, traffic_[sent_]); });
}

/// Receives the gradients of the parts that this process owns, one after the other in a buffer.
void WeightExchange::receive_gradients(const Bucket& bucket, Traffic& traffic, int from) {
  const auto& parts = bucket.parts[static_cast<size_t>(processes_.rank())];
  if (parts.empty()) return;
  // Room for the numbers in fp32, which those in bf16 become.
  Receipt receipt{
      from, take_buffer(static_cast<size_t>(bucket.elements(processes_.rank())) * size_of(dtype_)), {}};
  std::byte* next = receipt.buffer.get();
  for (const WeightPart& part : parts) {
    const size_t bytes = bytes_of(part, wire_);
    receipt.messages.push_back(processes_.receive(from, Processes::Buffer(receipt.buffer, next), bytes));
    next += bytes;
  }
  traffic.incoming.push_back(std::move(receipt));
}

/// Sends parts to a process, from where they are unless they have to be rounded.
void WeightExchange::send(const std::vector<WeightPart>& parts, int to, WireType wire, Traffic& traffic) {
  for (const WeightPart& part : parts) {
    Processes::Buffer elements = buffer_of(part);
    if (wire == WireType::bf16) elements = rounded_to_bf16(elements.get(), part.count);
    traffic.outgoing.push_back(processes_.send(to, std::move(elements), bytes_of(part, wire)));
  }
}

/// The elements of a part, which stay as long as the buffer does.
Processes::Buffer WeightExchange::buffer_of(const WeightPart& part) const {
  return {tensors_[part.weight], static_cast<std::byte*>(view_of(part).data)};
}

/// A buffer that is not used any more, or a new one.
Processes::Buffer WeightExchange::take_buffer(size_t bytes) {
  for (auto& [buffer, size] : buffers_)
    if (buffer.use_count() == 1 && size >= bytes) return buffer;
  buffers_.emplace_back(Processes::Buffer(new std::byte[bytes]), bytes);
  return buffers_.back().first;
}

bool WeightExchange::has_arrived(size_t bucket) {
  return std::ranges::all_of(traffic_[bucket].incoming, [&](const Receipt& receipt) {
    return std::ranges::all_of(receipt.messages, [&](auto message) { return processes_.done(message); });
  });
}

void WeightExchange::finish() {
  if (processes_.size() == 1) return;
  complete_from_ = 0;
  advance();
  while (added_ < division_.buckets().size()) {
    // All others send this bucket without waiting for later ones.
    if (added_ < std::min(sent_, received_))
      add_up(added_++);
    else
      release_sent(true);
    advance();
  }
  while (released_ < sent_) release_sent(true);
  tensors_.clear();
}

/// Adds the gradients of the parts that this process owns, by the tree of shards.
void WeightExchange::add_up(size_t bucket) {
  const auto& parts = division_.buckets()[bucket].parts[static_cast<size_t>(processes_.rank())];
  std::vector<std::byte*> sums(static_cast<size_t>(processes_.size()), nullptr);  ///< null: in the gradients
  int64_t elements = 0;
  for (const WeightPart& part : parts) elements += part.count;
  for (const Receipt& receipt : traffic_[bucket].incoming) {
    for (const Processes::Message message : receipt.messages) processes_.wait(message);
    if (wire_ == WireType::bf16) expand_from_bf16(receipt.buffer.get(), elements);
    sums[static_cast<size_t>(receipt.from)] = receipt.buffer.get();
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
  traffic_[bucket].incoming.clear();
}

/// Forgets the messages of a bucket that were sent. Returns whether it did.
bool WeightExchange::release_sent(bool wait) {
  if (released_ == sent_) return false;
  auto& messages = traffic_[released_].outgoing;
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
    for (; sent_ < buckets.size() && sent_ - added_ < most_under_way; ++sent_)
      for_others([&](int other) {
        const auto& parts = buckets[sent_].parts;
        send(parts[static_cast<size_t>(processes_.rank())], other, WireType::fp32, traffic_[sent_]);
        for (const WeightPart& part : parts[static_cast<size_t>(other)])
          traffic_[sent_].outgoing.push_back(
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
