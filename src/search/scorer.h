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
  /// Uses `sibling`, a sibling of the model's backend (`Backend::sibling`). `models`: an ensemble, whose first
  /// model is `shared` and which searches use instead of it; may be null.
  DecodeWorkspace(const Transformer& shared, std::shared_ptr<Backend> sibling, const Ensemble* models = nullptr)
      : model(shared), ensemble(models), backend(std::move(sibling)), arena(std::make_shared<Arena>(backend)) {}

  const Transformer& model;
  const Ensemble* ensemble;
  std::shared_ptr<Backend> backend;
  std::shared_ptr<Arena> arena;
};

/// The arguments of `draw`, for a query that draws a token.
struct DrawQuery {
  const DrawOptions* options = nullptr;
  std::span<const int32_t> before;  ///< the tokens that occur so far, each once
  double uniform = 0;
  int likeliest = 0;  ///< number of likeliest tokens to return as well
};

/// A question of a strategy about the next token of a hypothesis. An extension has one query, or several: then
/// they are adjacent, and ask about the tokens after each of its last tokens.
struct Query {
  /// Number of tokens of the extension behind the one whose next token is asked for: 0 for the last query of an
  /// extension, 1 for the one before it, and so on.
  size_t tokens_behind = 0;
  int top_k = 0;  ///< number of most probable tokens to return, banned ones excluded
  /// Tokens excluded from the `top_k`. The probabilities of the others do not change, unless `renormalize` is
  /// set.
  std::span<const int32_t> banned = {};
  bool renormalize = false;  ///< give banned tokens probability 0 and renormalize the others
  /// Tokens whose log-probabilities are returned as well, even of banned ones. If `renormalize` is set, that of
  /// banned ones is -infinity.
  std::span<const int32_t> listed = {};
  bool logits = false;  ///< whether the logits of the listed tokens are returned as well
  /// The last `given` tokens of the extension are scored: the log-probability of each, after the tokens before
  /// it, is returned as well. It is less than the number of tokens of the extension.
  size_t given = 0;
  int given_likeliest = 0;  ///< number of likeliest tokens to return in the place of each given token
  /// The decoder layer whose attention to the source is returned as well; -1: none.
  int attention_layer = -1;
  /// If not null, a token is drawn, banned ones excluded, and `top_k` and `listed` are ignored.
  const DrawQuery* draw = nullptr;
};

/// The answer to a query: the `top_k` tokens, best first (ties in order of ids), then the listed ones. If too
/// few tokens are not banned, banned ones come last among the `top_k`, with -infinity. There are fewer than
/// `top_k` if the vocabulary or the shortlist has fewer tokens. For a draw: the token that was drawn, or a
/// negative `Drawn::id`, then the likeliest ones. The memory is on the host and valid until the next call of
/// `score`.
struct Answer {
  std::span<const int32_t> ids;
  std::span<const float> log_probs;
  std::span<const float> logits = {};  ///< those of the listed tokens, if `Query::logits`
  std::span<const float> given = {};   ///< log-probabilities of the given tokens
  /// For each given token, the likeliest tokens in its place, best first, with their log-probabilities.
  std::span<const int32_t> given_ids = {};
  std::span<const float> given_log_probs = {};
  /// For each token of the source, the sum of its attention weights over the tokens of the extension; the mean
  /// of the heads.
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
  /// The number of rows that its decoding states have memory for.
  virtual int64_t rows() const = 0;
  /// Extends hypotheses (see `DecodingState::extend`), and answers the queries about their next tokens, which
  /// are in the order of the extensions. Waits for the kernels that compute the answers.
  virtual std::span<const Answer> score(std::span<const Extension> extensions,
                                        std::span<const Query> queries) = 0;
};

/// Where the question of a query is.
struct QueryPlace {
  size_t extension = 0;  ///< index of its extension
  size_t first_row = 0;  ///< number of tokens of all extensions before this one
  size_t row = 0;  ///< index, among the tokens of all extensions, of the one whose next token is asked for
};
/// Returns the place of each query. Throws if extensions and queries do not belong together.
std::vector<QueryPlace> places_of(std::span<const Extension> extensions, std::span<const Query> queries);

/// The scorer of the model of a workspace, or of its ensemble, if it has one. The workspace must outlive it.
std::unique_ptr<Scorer> make_scorer(const DecodeWorkspace& workspace);

}  // namespace sixfold
