#include "train/weight_exchange.h"

#include <algorithm>

#include "base/error.h"
#include "train/wire.h"

namespace sixfold {
namespace {

std::vector<int64_t> sizes_of(const std::vector<Parameter>& weights) {
  std::vector<int64_t> sizes;
  for (const Parameter& weight : weights) sizes.push_back(weight.tensor.size());
  return sizes;
}

}  // namespace

WeightExchange::WeightExchange(Processes& processes, ShardTree tree, std::shared_ptr<Backend> backend,
                               const std::vector<Parameter>& weights, WireType wire)
    : processes_(processes),
      tree_(std::move(tree)),
      backend_(std::move(backend)),
      dtype_(weights.front().tensor.dtype()),
      wire_(wire),
      division_(sizes_of(weights), processes.size(), kernel::BlockSquares::block) {
  require(processes.size() == 1 || backend_->is_host(), "several processes train in host memory only");
  if (processes.size() > 1)
    own_ = division_.parts_of(processes.rank());
  else
    for (size_t i = 0; i < weights.size(); ++i) own_.push_back({i, 0, weights[i].tensor.size()});
}

int64_t WeightExchange::most_bytes(int processes) {
  constexpr int64_t bucket = WeightDivision::bucket_elements * int64_t{sizeof(float)};
  return processes > 1 ? 2 * static_cast<int64_t>(most_under_way) * bucket : 0;  // sent and received
}

std::vector<WeightPart> WeightExchange::parts_of(int process) const {
  return process == processes_.rank() ? own_ : division_.parts_of(process);
}

void WeightExchange::start(std::vector<Tensor> tensors) {
  tensors_ = std::move(tensors);
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
    for_others([&](int from) {
      if (buckets[received_].elements(processes_.rank()) == 0) return;
      const size_t bytes = bytes_of(buckets[received_], processes_.rank(), wire_);
      // Room for the numbers in fp32, which those in bf16 become.
      const size_t room = bytes_of(buckets[received_], processes_.rank(), WireType::fp32);
      const Processes::Buffer buffer(new std::byte[room]);
      traffic_[received_].incoming.push_back({from, buffer, processes_.receive(from, buffer, bytes)});
    });
  while (release_sent(false)) {
  }
  for (; sent_ < buckets.size() && sent_ - released_ < most_under_way &&
         buckets[sent_].first_weight >= complete_from_;
       ++sent_)
    for_others([&](int to) {
      const auto& parts = buckets[sent_].parts[static_cast<size_t>(to)];
      if (parts.empty()) return;
      traffic_[sent_].outgoing.push_back(
          processes_.send(to, pack(parts, wire_), bytes_of(buckets[sent_], to, wire_)));
    });
}

bool WeightExchange::has_arrived(size_t bucket) {
  return std::ranges::all_of(traffic_[bucket].incoming,
                             [&](const Receipt& receipt) { return processes_.done(receipt.message); });
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
    processes_.wait(receipt.message);
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
  if (sums[0]) unpack(parts, sums[0]);
  traffic_[bucket].incoming.clear();
}

/// Forgets the sent messages of a bucket. Returns whether it did.
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
    for (; sent_ < buckets.size() && sent_ - added_ < most_under_way; ++sent_) {
      const Bucket& bucket = buckets[sent_];
      const auto& own = bucket.parts[static_cast<size_t>(processes_.rank())];
      const Processes::Buffer packed = own.empty() ? nullptr : pack(own, WireType::fp32);
      for_others([&](int other) {
        if (packed)
          traffic_[sent_].outgoing.push_back(
              processes_.send(other, packed, bytes_of(bucket, processes_.rank(), WireType::fp32)));
        const size_t bytes = bytes_of(bucket, other, WireType::fp32);
        if (bytes == 0) return;
        const Processes::Buffer buffer(new std::byte[bytes]);
        traffic_[sent_].incoming.push_back({other, buffer, processes_.receive(other, buffer, bytes)});
      });
    }
    for (const Receipt& receipt : traffic_[added_].incoming) {
      processes_.wait(receipt.message);
      unpack(buckets[added_].parts[static_cast<size_t>(receipt.from)], receipt.buffer.get());
    }
    traffic_[added_].incoming.clear();
    release_sent(true);
  }
  tensors_.clear();
}

size_t WeightExchange::bytes_of(const Bucket& bucket, int owner, WireType wire) const {
  return static_cast<size_t>(bucket.elements(owner)) * (wire == WireType::bf16 ? 2 : size_of(dtype_));
}

View WeightExchange::view_of(const WeightPart& part) const {
  const View whole = tensors_[part.weight].view();
  const int64_t elements = whole.rows * whole.cols;
  return View{whole.data, whole.dtype, 1, elements, elements}.slice_cols(part.begin, part.count);
}

Processes::Buffer WeightExchange::pack(const std::vector<WeightPart>& parts, WireType wire) {
  size_t bytes = 0;
  for (const WeightPart& part : parts) bytes += static_cast<size_t>(part.count) * size_of(dtype_);
  Processes::Buffer buffer(new std::byte[bytes]);
  std::byte* next = buffer.get();
  for (const WeightPart& part : parts) {
    const size_t size = static_cast<size_t>(part.count) * size_of(dtype_);
    backend_->download({next, size}, view_of(part).data);
    next += size;
  }
  if (wire == WireType::bf16) round_to_bf16(buffer.get(), static_cast<int64_t>(bytes / sizeof(float)));
  return buffer;
}

void WeightExchange::unpack(const std::vector<WeightPart>& parts, const std::byte* bytes) {
  for (const WeightPart& part : parts) {
    const size_t size = static_cast<size_t>(part.count) * size_of(dtype_);
    backend_->upload(view_of(part).data, {bytes, size});
    bytes += size;
  }
}

template <class Use>
void WeightExchange::for_others(const Use& use) const {
  for (int process = 0; process < processes_.size(); ++process)
    if (process != processes_.rank()) use(process);
}

}  // namespace sixfold
