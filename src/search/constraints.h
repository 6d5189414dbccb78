#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sixfold {

/// What an output must begin with, must contain and must not contain, as tokens.
struct LexicalConstraints {
  std::vector<int32_t> prefix;  ///< the output begins with it
  /// The output contains each of these, not empty, as often as it is listed. Occurrences may overlap.
  std::vector<std::vector<int32_t>> phrases;
  std::vector<std::vector<int32_t>> banned_phrases;  ///< the output contains none of these, not empty
  /// Whether what follows a token belongs to the same word, so that none of `phrases` begins there; empty:
  /// never.
  std::function<bool(int32_t)> word_goes_on = {};
  /// Whether a token goes on the word that the token before it ends, so that a phrase that ends in that word
  /// does not occur; empty: never.
  std::function<bool(int32_t last, int32_t next)> continues_word = {};

  bool empty() const { return prefix.empty() && phrases.empty() && banned_phrases.empty(); }
  /// All tokens of the prefix and of `phrases`, ascending, each once.
  std::vector<int32_t> tokens() const;
};

/// How far a hypothesis is with the phrases that it must contain.
struct PhraseProgress {
  std::vector<int32_t>
      matched;  ///< for each phrase, the number of its first tokens that the hypothesis ends in
  std::vector<int32_t> missing;  ///< for each phrase, how often it still must occur
  std::vector<size_t> just_met;  ///< the phrases that were missing and that the last token has completed
  bool within_word = false;      ///< whether the next token belongs to the word of the last one
};

/// The phrases that an output must contain. Safe to share between threads.
class PhraseSet {
 public:
  PhraseSet() = default;
  /// Throws an input error if a phrase is empty. A phrase that is listed n times must occur n times.
  /// The functions are those of `LexicalConstraints`.
  explicit PhraseSet(std::span<const std::vector<int32_t>> phrases,
                     std::function<bool(int32_t)> word_goes_on = {},
                     std::function<bool(int32_t, int32_t)> continues_word = {});

  bool empty() const { return phrases_.empty(); }
  /// The number of tokens of all phrases, each as often as it must occur.
  int tokens() const { return tokens_; }
  /// Of an empty hypothesis.
  PhraseProgress start() const;
  /// The progress of a hypothesis that is extended by a token.
  PhraseProgress after(const PhraseProgress& progress, int32_t token) const;
  /// The number of tokens of phrases that are met: those of the phrases that occur, and those of the one that
  /// the hypothesis is farthest in. From 0 to `tokens()`.
  int met(const PhraseProgress& progress) const;
  bool complete(const PhraseProgress& progress) const { return met(progress) == tokens_; }
  /// The indices, in the list of the constructor, of the phrases that still must occur.
  std::vector<size_t> unmet(const PhraseProgress& progress) const;

 private:
  struct Phrase {
    std::vector<int32_t> ids;
    /// Of its first i + 1 tokens: the longest proper prefix that they end in and that may begin there.
    std::vector<int32_t> borders;
    std::vector<size_t> indices;  ///< in the list
  };
  std::vector<Phrase> phrases_;  // each once
  int tokens_ = 0;
  std::function<bool(int32_t)> word_goes_on_;
  std::function<bool(int32_t, int32_t)> continues_word_;
};

/// Divides the places of a beam among banks, as dynamic beam allocation does (Post and Vilar 2018,
/// section 3.2): each bank gets an equal part, the last one the rest too. Places that a bank has no use for go
/// to the bank before it, and what is left then to the last banks that have use for them. `wanted`: the number
/// of hypotheses of each bank. Returns the places of each.
std::vector<size_t> divide_beam(size_t places, std::span<const size_t> wanted);

}  // namespace sixfold
