#pragma once
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/row_store.h"
#include "model/transformer.h"

namespace sixfold {

/// The continuation of a hypothesis: its parent, and the tokens that the decoder reads next.
struct Extension {
  int request = 0;
  /// Index of the parent among the request's extensions in the previous call; 0 in the first call.
  int parent = 0;
  std::span<const int32_t> tokens;  ///< the next token, or several: a prompt or a forced prefix
  /// The tokens begin a new sequence, which replaces the tokens that the parent has read. The source stays.
  bool new_sequence = false;
  /// Number of newest tokens of the parent that the new hypothesis does not keep: guesses that were wrong.
  /// Above 0 only if the state keeps all tokens (`DecodingState::keeps_all_tokens`).
  int discarded = 0;
};

/// The state of decoding several requests. For each request it holds the source, projected once for the
/// cross-attention of every layer; for each hypothesis it holds the rows that the mixers keep. Hypotheses share
/// the rows of their common tokens, and reordering them copies no rows. Each hypothesis has its own position:
/// there is no global step, and requests can be added and removed at any time. For one thread at a time.
class DecodingState {
 public:
  /// Stores rows in the memory of `backend`; the contexts of later calls must use the same backend. Throws an
  /// input error if the model has no decoder.
  DecodingState(const Transformer& model, std::shared_ptr<Backend> backend);

  /// Encodes the sources (with end tokens) of new requests in one batch. The caller chooses a small number for
  /// each request, which must not be in use. A new request has one hypothesis, which has read no token. Sources
  /// must have tokens, or be empty if the model has no encoder. If this throws, nothing has changed.
  void enter(std::span<const int> requests, const IdBatch& sources, Context& context);
  /// Whether the mixers keep the rows of all tokens, so that the newest ones can be discarded: attention to the
  /// whole text keeps them; recurrent states and windows do not.
  static bool keeps_all_tokens(const Transformer& model);
  /// Whether sequences can share their beginnings: all tokens are kept, and no source is attended to.
  static bool keeps_beginnings(const Transformer& model) {
    return keeps_all_tokens(model) && !model.config().has_encoder();
  }
  /// Begins a new sequence of a request with rows that are there already: those of the longest beginning of
  /// `tokens` that was kept. Returns its length, or 0, which changes nothing. More than
  /// `kernel::Attention::few_queries` tokens are left to be read in one extension, whose states then have the
  /// bits as if all tokens were read at once.
  size_t share_beginning(int request, std::span<const int32_t> tokens);
  /// The length of the beginning that `share_beginning` would share.
  size_t kept_beginning(std::span<const int32_t> tokens) const { return best_beginning(tokens).second; }
  /// How many tokens of the beginning that two sequences have in common can be shared if `tokens` is to be
  /// read; 0: too few.
  static size_t shareable(std::span<const int32_t> tokens, std::span<const int32_t> other);
  /// Keeps the rows of a request that has read these tokens at once, and no others, for `share_beginning`, also
  /// when the request has left. Needs `keeps_beginnings`. Kept rows take no memory that others need: the oldest
  /// ones are given up before a store grows.
  void keep_beginning(int request, std::span<const int32_t> tokens);
  /// The bytes that a token of a source and a token of a hypothesis take as long as they are kept.
  static std::pair<int64_t, int64_t> bytes_per_token(const Transformer& model);
  /// Frees the state of a request. Its number can be used again.
  void leave(int request);

  /// Extends hypotheses. The extensions of a request must be adjacent; they become its new hypotheses, and
  /// hypotheses without an extension are dropped. Requests without extensions are unchanged. Returns the
  /// decoder's states of all new tokens, [tokens, d_model], in the order of the extensions. Does not wait for
  /// the kernels. `observer`, unless it is null, observes the attention of these tokens.
  Tensor extend(std::span<const Extension> extensions, Context& context, AttentionObserver* observer = nullptr);
  /// The number of tokens of a request's source.
  size_t source_tokens(int request) const { return requests_[static_cast<size_t>(request)].source_rows.size(); }

  /// The rows of the mixers: one store for all layers that retain the same number of tokens, in the order in
  /// which the layers first use them.
  std::span<const RowStore> target() const { return target_; }
  /// The rows of the projected sources.
  const RowStore& source() const { return source_; }

 private:
  /// A hypothesis: the rows of its tokens in each store of `target_`, oldest first.
  struct Hypothesis {
    int32_t length = 0;  ///< number of tokens read
    std::vector<std::vector<int32_t>> rows;
  };
  struct Request {
    std::vector<int32_t> source_rows;
    std::vector<Hypothesis> hypotheses;  ///< empty: the number is free
    int64_t last_extended = 0;           ///< number of the call of `extend` that created the hypotheses
  };
  class Step;
  /// The first tokens of a sequence, which were read at once, and their rows in each store.
  struct Beginning {
    std::vector<int32_t> ids;
    std::vector<std::vector<int32_t>> rows;
  };

  Request& at(int request);
  std::pair<size_t, size_t> best_beginning(std::span<const int32_t> tokens) const;
  void give_up_oldest_beginning();
  void check_entering(std::span<const int> requests, const IdBatch& sources) const;
  std::vector<int32_t> store_sources(const IdBatch& sources, Context& context);
  void branch(std::span<const Extension> siblings);
  void discard(Hypothesis& hypothesis, int tokens);
  Hypothesis copy(const Hypothesis& hypothesis);
  void release(const std::vector<std::vector<int32_t>>& rows);
  void allocate(size_t store, int count, std::vector<int32_t>& rows);
  std::vector<KeyValues> source_memory(std::span<const Extension> extensions, Context& context) const;

  const Transformer& model_;
  RowStore source_;
  std::vector<int> retained_;     // for each store of target_: number of newest tokens that have rows
  std::vector<size_t> store_of_;  // by layer
  std::vector<RowStore> target_;
  std::vector<Request> requests_;
  std::vector<Beginning> beginnings_;  // the one that was used last comes last
  int64_t extend_calls_ = 0;           // number of calls of `extend` so far
};

}  // namespace sixfold
