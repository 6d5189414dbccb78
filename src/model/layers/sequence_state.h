#pragma once
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "ops/ops.h"

namespace sixfold {

/// The shape of the state that a mixer keeps for a hypothesis in decoding: one row for each of its newest
/// tokens. A row is written once. Hypotheses share the rows of their common tokens, and reordering them copies
/// no rows.
struct StateShape {
  static constexpr int all = std::numeric_limits<int>::max();

  /// The widths of the parts of a row, in elements: keys and values [heads * d_k, heads * d_v], a recurrent
  /// state [d].
  std::vector<int64_t> widths;
  /// The number of newest tokens that have rows. Attention needs all, attention restricted to r places needs r,
  /// a recurrent cell 1, and a convolution of kernel size k needs k - 1.
  int retain = all;
  /// Whether the rows are keys and values, which `ops::attention` reads in bf16 too.
  bool keys_and_values = false;
};

/// Rows of tokens, and the pattern that says which of them the new tokens of each sequence attend to.
struct StateRows {
  /// [rows, width] each, with the widths of `StateShape::widths`; in the backend's memory.
  std::span<const Tensor> parts;
  /// Span i: the new tokens of sequence i, and the places of its rows, oldest first.
  std::shared_ptr<const ops::AttentionPattern> pattern;
};

/// Gives access to the earlier tokens of each sequence. In training and in an encoder, sequences are complete
/// (`WholeSequences`); in decoding a `DecodingState` holds their rows. Mixers treat both alike. Returned parts
/// and patterns are valid until the next call. For one thread at a time.
class SequenceState {
 public:
  virtual ~SequenceState() = default;
  /// The rows before the new tokens; none if sequences are complete.
  virtual StateRows before(int layer) = 0;
  /// Adds the rows of the new tokens, [new tokens, width] each. Returns the rows before them together with the
  /// new rows.
  virtual StateRows append(int layer, std::span<const Tensor> parts) = 0;
};

/// Complete sequences. In an encoder each token attends to its whole sequence. In a decoder (causal), which
/// reads the correct target in training ("teacher forcing"), each token attends to itself and to earlier
/// tokens.
class WholeSequences final : public SequenceState {
 public:
  WholeSequences(const Ragged& rows, bool causal, Context& context)
      : rows_(rows), context_(context), pattern_(ops::attention_pattern(context, rows, rows, causal)) {}

  StateRows before(int layer) override;
  StateRows append(int, std::span<const Tensor> parts) override { return {parts, pattern_}; }

 private:
  const Ragged& rows_;
  Context& context_;
  std::shared_ptr<const ops::AttentionPattern> pattern_, empty_pattern_;
};

}  // namespace sixfold
