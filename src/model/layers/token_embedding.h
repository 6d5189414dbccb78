#pragma once
#include <optional>
#include <span>

#include "model/layers/architecture.h"
#include "model/layers/parameters.h"
#include "model/layers/positions.h"
#include "ops/ops.h"

namespace sixfold {

/// The embedding of tokens with their positions (sections 3.4 and 3.5). The architecture specifies how
/// positions are added; those that are not added to embeddings (rotary, ALiBi, T5) do not change the vectors.
/// Const members may be called from several threads.
class TokenEmbedding {
 public:
  /// The weights of what is added to embeddings; empty where the architecture does not have it.
  struct Tables {
    Tensor positions = {};  ///< learned positions, [max_positions, d_model]
    Tensor types = {};      ///< token types, [token_types, d_model]
  };
  TokenEmbedding(const ParameterBuilder& make, const Architecture& a, Tables tables);

  /// Inputs of the embedding of each token besides its id and position.
  struct PerToken {
    std::span<const int32_t> lengths = {};  ///< lengths by which positions are divided for a relative index
    std::span<const int32_t> types = {};    ///< rows of the table of token types; empty: all 0
  };
  /// Whether the call needs `lengths`.
  bool needs_lengths() const { return architecture_.positions == Positions::relative_index; }
  /// ids -> dropout(table[id] * scale with its position) [tokens, d_model]. `table`: [vocab, d_model].
  /// Throws an input error if a sentence is longer than the table of learned positions and the architecture
  /// refuses that.
  Tensor operator()(const Tensor& table, std::span<const int32_t> ids, const TokenRows& rows,
                    const PerToken& tokens, Context& context) const;
  /// The same for rows that are vectors already, such as patches of images: x [tokens, d_model] ->
  /// dropout(x with its position) [tokens, d_model].
  Tensor positioned(Tensor x, const TokenRows& rows, const PerToken& tokens, Context& context) const;

 private:
  Architecture architecture_;
  double scale_, dropout_;
  std::optional<PositionTable> sinusoids_;
  Tables tables_;
};

}  // namespace sixfold
