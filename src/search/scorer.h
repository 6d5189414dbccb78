#pragma once
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/decoding_state.h"
#include "search/draw.h"

namespace sixfold {

struct Ensemble;

/// What one thread needs for decoding: a model, which threads may share, and a backend and buffers of its own.
/// For one thread at a time.
struct DecodeWorkspace {
  /// Uses the model's own backend, so only one thread at a time may use the model this way.
  DecodeWorkspace(const Transformer& shared) : DecodeWorkspace(shared, shared.backend()) {}
  /// Uses `own`, a sibling of the model's backend (`Backend::sibling`). `together`, or null: what searches ask
  /// instead of the model, which is the first of it.
  DecodeWorkspace(const Transformer& shared, std::shared_ptr<Backend> own, const Ensemble* together = nullptr)
      : model(shared), ensemble(together), backend(std::move(own)), arena(std::make_shared<Arena>(backend)) {}

  const Transformer& model;
  const Ensemble* ensemble;
  std::shared_ptr<Backend> backend;
  std::shared_ptr<Arena> arena;
};

/// Asks for a token that is drawn (`draw`).
struct DrawQuery {
  const DrawOptions* options = nullptr;
  std::span<const int32_t> before;  ///< the tokens that occur so far, each once
  double uniform = 0;
  int likeliest = 0;  ///< number of likeliest tokens wanted too
};

/// A question of a strategy about the next token of a hypothesis.
struct Query {
  int top_k = 0;  ///< number of most probable tokens wanted, banned ones excluded
  /// Tokens excluded from `top_k`; they keep their share of the probability.
  std::span<const int32_t> banned = {};
  bool renormalize = false;  ///< give banned tokens probability 0 and renormalize the others
  /// Tokens whose log-probabilities are wanted too, without regard to `banned` unless `renormalize` is set.
  std::span<const int32_t> listed = {};
  bool logits = false;  ///< whether the logits of the listed tokens are wanted too
  /// The number of last tokens of the extension whose log-probabilities are wanted too, each after the tokens
  /// before it. It is less than the number of its tokens.
  size_t given = 0;
  int given_likeliest = 0;  ///< number of likeliest tokens wanted too in the place of each given token
  /// The decoder layer whose attention to the source is wanted too; -1: none.
  int attention_layer = -1;
  /// A token that is drawn, instead of all others; banned ones excluded.
  const DrawQuery* draw = nullptr;
};

/// The answer to a query: the `top_k` tokens, best first (ties in order of ids), then the listed ones. Banned
/// tokens come last among the `top_k`, with -infinity. There are fewer than `top_k` if the vocabulary or the
/// shortlist has fewer tokens. For a draw: the token that was drawn, or -1, then the likeliest ones. In host
/// memory, valid until the next call of `score`.
struct Answer {
  std::span<const int32_t> ids;
  std::span<const float> log_probs;
  std::span<const float> logits = {};  ///< of the listed tokens, if they were asked for
  std::span<const float> given = {};   ///< log-probabilities of the last tokens of the extension
  /// For each of them the likeliest tokens in its place, best first, with their log-probabilities.
  std::span<const int32_t> given_ids = {};
  std::span<const float> given_log_probs = {};
  /// The attention weights of each token of the source, of all tokens of the extension together: the mean of
  /// the heads.
  std::span<const float> attention = {};
};

/// Computes probabilities of the next tokens of hypotheses. It answers queries instead of returning rows of
/// log-probabilities. For one thread at a time.
class Scorer {
 public:
  virtual ~Scorer() = default;

  /// Encodes the sources (with end tokens) of new requests; see `DecodingState::enter`. `shortlists`: for each
  /// request the ids of the tokens that it may use, in ascending order; empty: all.
  virtual void enter(std::span<const int> requests, const IdBatch& sources,
                     std::span<const std::span<const int32_t>> shortlists) = 0;
  /// Removes a request; its number can be used again.
  virtual void leave(int request) = 0;
  /// The rows that its decoding states have memory for.
  virtual int64_t rows() const = 0;
  /// Extends hypotheses (see `DecodingState::extend`), and answers for each the query about its next token.
  /// `queries` has one entry for each extension. Waits for the kernels that compute the answers.
  virtual std::span<const Answer> score(std::span<const Extension> extensions,
                                        std::span<const Query> queries) = 0;
};

/// The scorer of the model of a workspace, or of its ensemble, if it has one. The workspace must outlive it.
std::unique_ptr<Scorer> make_scorer(const DecodeWorkspace& workspace);

}  // namespace sixfold
