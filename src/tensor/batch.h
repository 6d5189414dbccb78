#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/ragged.h"

namespace sixfold {

/// Samples for a model, packed: one row for each token, no padding. Each part is there for all samples or for
/// none.
struct Batch {
  IdBatch source;  ///< what the encoder reads; its end tokens belong to it
  IdBatch target;  ///< what the decoder reads, a start token first; -1 stands for an embedding of zeros
  std::vector<int32_t>
      labels;  ///< the right next token of each row of `target`; of `source` where there is no target
  std::vector<int32_t> samples;  ///< numbers of the samples, which key dropout; none: 0, 1, 2, ...

  /// Throws an input error for a part that only some samples have, and for labels that are not one for each
  /// row.
  void check() const;
  int size() const { return std::max(source.rows.sequences(), target.rows.sequences()); }
  int64_t tokens() const { return source.rows.tokens() + target.rows.tokens(); }
  /// What the loss of the batch is divided by, together with that of the other batches of an update.
  double loss_weight() const { return static_cast<double>(labels.size()); }
};

/// What stands before and behind a target.
struct TargetEnds {
  int32_t start = -1;  ///< read first by the decoder; -1: an embedding of zeros
  int32_t eos = 2;     ///< its last label
};

/// Makes batches, sample by sample: the one place where the input of teacher forcing is laid out.
class BatchBuilder {
 public:
  /// The sample that comes next has this number.
  BatchBuilder& sample(int32_t number);
  /// Its source, as the encoder reads it.
  BatchBuilder& source(std::span<const int32_t> ids);
  /// Its target: the decoder reads start, target and is to say target, end.
  BatchBuilder& teacher_forced(std::span<const int32_t> target, TargetEnds ends);
  /// A target that is cut off: the decoder reads start, target but for its last token, and is to say target.
  /// `target` has a token at least, else it is an input error.
  BatchBuilder& teacher_forced_prefix(std::span<const int32_t> target, int32_t start);
  /// The labels of its source, one for each token: for models without a decoder.
  BatchBuilder& label_source(std::span<const int32_t> labels);

  const Batch& batch() const { return batch_; }
  /// The batch; the builder is empty again. Throws as `Batch::check`.
  Batch take();

 private:
  Batch batch_;
};

/// The samples of `batch`, in order, in batches of at most `max_tokens` tokens each, or of one sample.
std::vector<Batch> split(const Batch& batch, int64_t max_tokens);

}  // namespace sixfold
