#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/ragged.h"

namespace sixfold {

/// A packed batch of samples for a model: one row for each token, without padding. Each part is present for all
/// samples or for none. In host memory.
struct Batch {
  IdBatch source;  ///< input of the encoder, including the end tokens
  IdBatch target;  ///< input of the decoder, beginning with a start token; -1 gives an embedding of zeros
  /// The correct next token for each row of `target`, or of `source` if there is no target.
  std::vector<int32_t> labels;
  /// Sample numbers, from which the random bits of dropout are derived; empty: 0, 1, 2, ...
  std::vector<int32_t> samples;

  /// Throws an input error if only some samples have a part, or if the number of labels is not the number of
  /// rows.
  void check() const;
  int size() const { return std::max(source.rows.sequences(), target.rows.sequences()); }
  int64_t tokens() const { return source.rows.tokens() + target.rows.tokens(); }
  /// The number by which the loss is divided; that of an update is the sum over its batches.
  double loss_weight() const { return static_cast<double>(labels.size()); }
};

/// The tokens before and after a target.
struct TargetEnds {
  int32_t start = -1;  ///< first input of the decoder; -1: an embedding of zeros
  int32_t eos = 2;     ///< last label
};

/// Builds batches, sample by sample. This is the only place that lays out the decoder's input for teacher
/// forcing.
class BatchBuilder {
 public:
  /// Sets the number of the next sample.
  BatchBuilder& sample(int32_t number);
  /// Adds a source, as the encoder reads it.
  BatchBuilder& source(std::span<const int32_t> ids);
  /// Adds a target: the decoder reads start, target; the labels are target, end.
  BatchBuilder& teacher_forced(std::span<const int32_t> target, TargetEnds ends);
  /// Adds a target that was cut off: the decoder reads start, then the target without its last token; the
  /// labels are the target. Throws an input error if `target` is empty.
  BatchBuilder& teacher_forced_prefix(std::span<const int32_t> target, int32_t start);
  /// Adds the labels of the source, one for each token; for models without a decoder.
  BatchBuilder& label_source(std::span<const int32_t> labels);

  const Batch& batch() const { return batch_; }
  /// Returns the batch and empties the builder. Throws as `Batch::check`.
  Batch take();

 private:
  Batch batch_;
};

/// Splits a batch into batches of at most `max_tokens` tokens each, or of one sample. The order of the samples
/// is kept.
std::vector<Batch> split(const Batch& batch, int64_t max_tokens);

}  // namespace sixfold
