#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/epoch_order.h"
#include "ops/batch.h"

namespace sixfold {

/// A sample in the form in which reports show it: {"pair", {{"source", "a dog"}, {"target", "ein Hund"}}}.
struct SampleDescription {
  std::string kind;  ///< what kind of sample it is: "pair", "image"
  std::vector<std::pair<std::string, std::string>> texts;
};

/// A set of samples, numbered from 0. The contents of a sample, including random masking and augmentation, are
/// a pure function of its number and the epoch. So a resumed run gets the same samples as an uninterrupted one.
/// Any number of threads may call the const functions.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// The corpora that the dataset consists of. Samples are numbered consecutively over all of them.
  virtual std::vector<EpochOrder::Part> parts() const = 0;
  /// The number of tokens that a sample adds to the size of a batch: the rows of its source and target.
  virtual int64_t tokens(int64_t sample, int64_t epoch) const = 0;
  /// Adds the contents of the sample to `batch`, which already has its number.
  virtual void add(int64_t sample, int64_t epoch, BatchBuilder& batch) const = 0;
  virtual SampleDescription describe(int64_t sample) const = 0;
  /// A hash of all samples, which must be the same when a run is resumed.
  virtual std::string hash() const = 0;

  /// The number of samples of all parts.
  int64_t size() const;
};

}  // namespace sixfold
