#pragma once
#include <memory>
#include <span>
#include <vector>

#include "model/transformer.h"

namespace sixfold {

/// Keys and values of tokens in every layer: each token has one row, the same in all layers. Rows are taken and
/// given back in any order; where none is free, the memory doubles.
class KVStore {
 public:
  static constexpr int64_t fewest_rows = 256;

  KVStore(const ModelConfig& config, std::shared_ptr<Backend> backend, DType dtype);

  /// Appends `count` free rows to `rows`.
  void allocate(int count, std::vector<int32_t>& rows);
  void free(std::span<const int32_t> rows);
  /// Copies the keys and values of tokens into `rows`, one row for each.
  void put(int layer, const Tensor& rows, const KeyValues& tokens);
  /// A layer's rows as attention sees them; `pattern` names them by `key_rows`.
  KeyValues at(int layer, std::shared_ptr<const ops::AttentionPattern> pattern) const;

  int64_t rows() const { return rows_; }
  int64_t free_rows() const { return static_cast<int64_t>(free_.size()); }

 private:
  struct Layer {
    Tensor keys, values;  // [rows, heads * d_k], [rows, heads * d_v]
  };
  void grow(int64_t rows);
  Tensor grown(const Tensor& old, int64_t rows, int64_t cols, const Tensor& places) const;

  std::shared_ptr<Backend> backend_;
  std::shared_ptr<Memory> memory_;
  DType dtype_;
  int64_t key_width_, value_width_, rows_ = 0;
  std::vector<Layer> layers_;
  std::vector<int32_t> free_;
};

/// What a decoder knows of the sentences it is at: of each the source, projected once for the cross-attention
/// of every layer, and of each hypothesis the keys and values of its tokens. A hypothesis is a list of rows;
/// hypotheses share the rows of what they have in common, and putting them in another order moves no key or
/// value. A position belongs to a row and there is no global step: sentences enter, go on and leave each for
/// itself.
class DecodingState {
 public:
  /// Keeps its rows in the memory of `backend`, which the passes compute with too.
  DecodingState(const Transformer& model, std::shared_ptr<Backend> backend);

  /// Encodes sources (with end symbols), all at once. The result has for each the number that it goes by from
  /// now on.
  std::vector<int> enter(const IdBatch& sources, Context& context);
  /// Gives back all that was kept for a sentence; its number may be another's next.
  void leave(int sentence);

  /// A hypothesis and the token that it is to read next.
  struct NextToken {
    int sentence;
    int32_t id;
    std::vector<int32_t>* rows;  ///< of the tokens it has read; this token's row is appended
  };
  /// Reads one token in each hypothesis. The hypotheses of a sentence stand side by side. Returns the decoder's
  /// states, [tokens, d_model].
  Tensor step(std::span<const NextToken> tokens, Context& context);

  const KVStore& target() const { return target_; }
  const KVStore& source() const { return source_; }

 private:
  std::vector<int32_t> allocate_rows(std::span<const NextToken> tokens);
  std::shared_ptr<const ops::AttentionPattern> see_source(std::span<const NextToken> tokens,
                                                          Context& context) const;

  struct Sentence {
    std::vector<int32_t> source_rows, target_rows;
  };

  const Transformer& model_;
  KVStore source_, target_;
  std::vector<Sentence> sentences_;
  std::vector<int> free_sentences_;
};

}  // namespace sixfold
