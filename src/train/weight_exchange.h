#pragma once
#include <memory>
#include <vector>

#include "model/layers/parameters.h"
#include "train/config.h"
#include "train/distributed/division.h"
#include "train/distributed/processes.h"

namespace sixfold {

/// Adds the gradients of the processes of a run, and shares the updated weights (ZeRO stage 1, Rajbhandari et
/// al. 2020). Each process owns some parts of the weights. It receives their gradients from all others, and
/// sends their new values to all; so each process sends the gradients and the weights about once, whatever
/// their number. With one process there is nothing to do. For one thread at a time.
class WeightExchange {
 public:
  /// `processes` must outlive this object. `weights`: the weights that are trained, which have one type.
  /// `whole`: each weight has one owner.
  WeightExchange(Processes& processes, ShardTree tree, std::shared_ptr<Backend> backend,
                 const std::vector<Parameter>& weights, WireType wire, bool whole = false);

  Processes& processes() const { return processes_; }
  const ShardTree& tree() const { return tree_; }
  /// The division of the weights among so many processes.
  static WeightDivision division(const std::vector<Parameter>& weights, int processes, bool whole);
  /// The maximum memory of the messages of one process that are in flight, in bytes.
  static int64_t max_bytes(int processes, bool whole);
  /// The parts that this process, or another one, owns, sorted by weight and begin.
  const std::vector<WeightPart>& own_parts() const { return own_parts_; }
  std::vector<WeightPart> parts_of(int process) const;

  /// Begins to add the gradients of all processes. `gradients`: one tensor for each weight, which must not
  /// change after it is complete (`complete_from`) until `finish` returns.
  void begin(std::vector<Tensor> gradients);
  /// Tells that the gradients of this weight and of later ones are complete. Sends what can be sent, without
  /// waiting.
  void complete_from(size_t weight);
  /// Collective: completes the exchange. Then the parts that this process owns hold the sums; the values of
  /// other parts are unspecified.
  void finish();
  /// Collective: copies the parts of the tensors, one for each weight, from their owners to all processes.
  void share(std::vector<Tensor> tensors);

 private:
  using Bucket = WeightDivision::Bucket;
  static constexpr size_t max_in_flight = 4;  ///< maximum number of buckets in flight
  struct Incoming {
    int from = 0;
    Processes::Buffer buffer;
    std::vector<Processes::Message> messages;  ///< one for each part
  };
  /// The messages of a bucket that are in flight.
  struct BucketMessages {
    std::vector<Incoming> incoming;            ///< gradients to be added
    std::vector<Processes::Message> outgoing;  ///< all other messages
  };

  void start(std::vector<Tensor> tensors);
  void advance();
  void start_messages();
  void receive_gradients(const Bucket& bucket, BucketMessages& messages, int from);
  void send(const std::vector<WeightPart>& parts, int to, WireType wire, BucketMessages& messages);
  bool add_arrived();
  bool has_arrived(size_t bucket);
  void reduce_bucket(size_t bucket);
  bool release_sent(bool wait);
  size_t bytes_of(const WeightPart& part, WireType wire) const;
  Processes::Buffer buffer_of(const WeightPart& part) const;
  Processes::Buffer take_buffer(size_t bytes);
  View view_of(const WeightPart& part) const;
  template <class Use>
  void for_others(const Use& use) const;

  Processes& processes_;
  ShardTree tree_;
  std::shared_ptr<Backend> backend_;
  DType dtype_;
  WireType wire_;
  WeightDivision division_;
  std::vector<WeightPart> own_parts_;

  std::vector<std::shared_ptr<const Tensor>> tensors_;         ///< the tensors that are exchanged, by weight
  std::vector<std::pair<Processes::Buffer, size_t>> buffers_;  ///< for received gradients, with their sizes
  size_t complete_from_ = 0;
  std::vector<BucketMessages> messages_;                       ///< by bucket
  size_t received_ = 0, sent_ = 0, added_ = 0, released_ = 0;  ///< numbers of buckets
};

}  // namespace sixfold
