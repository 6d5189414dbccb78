#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/ragged.h"

namespace sixfold {

/// A packed batch of samples for a model: one row for each token, without padding, in host memory. Each part is
/// present for all samples or for none.
struct Batch {
  IdBatch source;  ///< input of the encoder: tokens, including the end tokens, or patches of images
  IdBatch target;  ///< input of the decoder, beginning with a start token; -1 gives an embedding of zeros
  /// The correct answers: the next token for each row of `target`, or what is to be predicted from rows of
  /// `source` if there is no target.
  std::vector<int32_t> labels;
  /// The row of each label, in ascending order; the label of a whole sequence has its first row. Empty: every
  /// row has one.
  std::vector<int32_t> label_rows;
  std::vector<float> label_weights;  ///< factors of the losses; empty: 1
  /// For each sample the rows of `source` from which its labels select one each, such as those of a text in
  /// which an answer is to be found. A label is then the index of a row in that range, and all samples have the
  /// same number of labels. Empty: labels do not select rows.
  std::vector<RowRange> choices;
  /// A link of a word alignment: a row of `target` and the row of `source` that it translates.
  struct Link {
    int32_t target, source;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy takes the comparison for one with a pointer
    auto operator<=>(const Link&) const = default;
  };
  std::vector<Link> links;  ///< in ascending order
  /// Sample numbers, from which the random bits of dropout are derived; empty: 0, 1, 2, ...
  std::vector<int32_t> samples;

  /// Throws an input error if only some samples have a part, or if labels, their rows and their weights do not
  /// fit together.
  void check() const;
  /// The number of labels of each sample that select one of its rows.
  size_t labels_of_choice() const { return choices.empty() ? 0 : labels.size() / choices.size(); }
  int size() const { return std::max(source.rows.sequences(), target.rows.sequences()); }
  int64_t tokens() const { return source.rows.tokens() + target.rows.tokens(); }
  /// The memory of its ids and labels, in bytes.
  int64_t bytes() const;
  /// The number by which the summed loss is divided. For an update it is the sum over the update's batches.
  double loss_weight() const;
};

/// The tokens before and after a target.
struct TargetEnds {
  int32_t start = -1;  ///< first input of the decoder; -1: an embedding of zeros
  int32_t eos = 2;     ///< last label
};

/// Builds batches, sample by sample. No other code lays out the decoder's input for teacher forcing.
class BatchBuilder {
 public:
  /// Sets the number of the next sample.
  BatchBuilder& sample(int32_t number);
  /// Adds a source, as the encoder reads it. `ids_per_row` is more than 1 for patches of an image, and the same
  /// for all sources of a batch.
  BatchBuilder& source(std::span<const int32_t> ids, int ids_per_row = 1);
  /// Adds a target: the decoder reads start, target; the labels are target, end.
  BatchBuilder& teacher_forced(std::span<const int32_t> target, TargetEnds ends);
  /// The same for a decoder that reads `input`, with as many tokens, in place of the target.
  BatchBuilder& teacher_forced(std::span<const int32_t> target, std::span<const int32_t> input,
                               TargetEnds ends);
  /// Adds a target that was cut off: the decoder reads start, then the target without its last token; the
  /// labels are the target. Throws an input error if `target` is empty.
  BatchBuilder& teacher_forced_prefix(std::span<const int32_t> target, int32_t start);
  /// Adds the labels of the source, one for each token; for models without a decoder.
  BatchBuilder& label_source(std::span<const int32_t> labels);
  /// Adds labels of some tokens of the source that was added last. `tokens` are their places in it, in
  /// ascending order.
  BatchBuilder& label_tokens(std::span<const int32_t> tokens, std::span<const int32_t> labels);
  /// Adds a label of the whole source that was added last.
  BatchBuilder& label_sequence(int32_t label, float weight = 1);
  /// Adds links of the sample whose source and target were added last; both sides count from its first row.
  BatchBuilder& link(std::span<const Batch::Link> links);
  /// Gives this weight to the labels that were added since the previous call. Must be called for all samples or
  /// for none.
  BatchBuilder& weigh(float weight);
  /// Sets the tokens from which labels select, of the source that was added last, and adds the sample's labels.
  /// These count from the first of the tokens, and may be missing.
  BatchBuilder& choose(RowRange tokens, std::span<const int32_t> labels = {});

  const Batch& batch() const { return batch_; }
  /// Returns the batch and empties the builder. Throws as `Batch::check`.
  Batch take();

 private:
  Batch batch_;
};

/// Splits a batch into batches of at most `max_tokens` tokens each, or of one sample. The order of the samples
/// is kept.
std::vector<Batch> split(const Batch& batch, int64_t max_tokens);

/// Divides a batch into `count` batches of about as many tokens each, some of which may be empty. The order of
/// the samples is kept.
std::vector<Batch> divide(const Batch& batch, int count);

}  // namespace sixfold
