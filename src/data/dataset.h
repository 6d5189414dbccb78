#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/epoch_order.h"
#include "ops/batch.h"

namespace sixfold {

/// A sample as reports name and show it: {"pair", {{"source", "a dog"}, {"target", "ein Hund"}}}.
struct SampleDescription {
  std::string kind;  ///< what its number counts
  std::vector<std::pair<std::string, std::string>> texts;
};

/// Samples by number, from 0. What a sample is in an epoch is a pure function of both, so that a run that is
/// resumed, masking and augmentation too, finds what the unbroken run would have had. Safe to share.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// The corpora that it is made of; their samples are numbered through.
  virtual std::vector<EpochOrder::Part> parts() const = 0;
  /// What a sample counts in a batch: the rows of its source and target.
  virtual int64_t tokens(int64_t sample, int64_t epoch) const = 0;
  /// Adds the sample to a batch; its number is there already.
  virtual void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const = 0;
  virtual SampleDescription describe(int64_t sample) const = 0;
  /// Of all samples: what a run that is resumed must find again.
  virtual std::string hash() const = 0;

  /// Of all parts.
  int64_t size() const;
};

}  // namespace sixfold
