#pragma once
#include <span>

#include "model/layers/architecture.h"
#include "model/layers/parameters.h"
#include "model/layers/positions.h"
#include "ops/ops.h"

namespace sixfold {

/// Sections 3.4 and 3.5: token ids become vectors, to which their positions are added in the way that the
/// architecture specifies. Positions that are not added to embeddings (rotary, ALiBi, T5's) leave the vectors
/// as they are. Const members may be called from several threads.
class TokenEmbedding {
 public:
  /// Learned positions are the weight `embed_positions.weight`, [max_positions, d_model].
  TokenEmbedding(ParameterBuilder make, const Architecture& a);

  /// Whether the call needs `lengths`.
  bool needs_lengths() const { return architecture_.positions == Positions::relative_index; }
  /// ids -> dropout(table[id] * scale with its position) [tokens, d_model]. `table`: [vocab, d_model].
  /// `lengths`: for each token, the length that its relative index refers to. Throws an input error if a
  /// sentence is longer than the table of learned positions and the architecture refuses that.
  Tensor operator()(const Tensor& table, std::span<const int32_t> ids, const TokenRows& rows,
                    std::span<const int32_t> lengths, Context& context) const;
  /// The same for rows that are vectors already, such as patches of images: x [tokens, d_model] ->
  /// dropout(x with its position) [tokens, d_model].
  Tensor positioned(const Tensor& x, const TokenRows& rows, std::span<const int32_t> lengths,
                    Context& context) const;

 private:
  Architecture architecture_;
  double scale_, dropout_;
  PositionTable sinusoids_;
  Tensor learned_;  // [max_positions, d_model], or empty
};

}  // namespace sixfold
