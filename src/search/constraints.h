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
  /// The output contains each of these phrases as often as it is listed. Occurrences may overlap. None is
  /// empty.
  std::vector<std::vector<int32_t>> phrases;
  std::vector<std::vector<int32_t>> banned_phrases;  ///< the output contains none of these; none is empty
  /// Whether the token after a given one belongs to the same word, so that none of `phrases` begins there; an
  /// empty function: never.
  std::function<bool(int32_t)> word_goes_on = {};
  /// Whether the token `next` continues the word of the token `last` before it, so that a phrase that ends in
  /// `last` does not occur there; an empty function: never.
  std::function<bool(int32_t last, int32_t next)> continues_word = {};

  bool empty() const { return prefix.empty() && phrases.empty() && banned_phrases.empty(); }
  /// All tokens of the prefix and of `phrases`, ascending, each once.
  std::vector<int32_t> tokens() const;
};

/// How many tokens of the phrases that it must contain a hypothesis has.
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
  /// The progress of an empty hypothesis.
  PhraseProgress start() const;
  /// The progress of a hypothesis after it is extended by a token.
  PhraseProgress after(const PhraseProgress& progress, int32_t token) const;
  /// The number of tokens of phrases that are met, from 0 to `tokens()`: all tokens of the phrases that occur,
  /// and the matched tokens of the missing phrase of which most are matched.
  int met(const PhraseProgress& progress) const;
  bool complete(const PhraseProgress& progress) const { return met(progress) == tokens_; }
  /// The indices, in the list of the constructor, of the phrases that still must occur.
  std::vector<size_t> unmet(const PhraseProgress& progress) const;

 private:
  struct Phrase {
    std::vector<int32_t> ids;
    /// For each i, the length of the longest proper prefix of the phrase that its first i + 1 tokens end in,
    /// and that may begin there.
    std::vector<int32_t> borders;
    std::vector<size_t> indices;  ///< where the list of the constructor has it
  };
  std::vector<Phrase> phrases_;  // no two are equal
  int tokens_ = 0;
  std::function<bool(int32_t)> word_goes_on_;
  std::function<bool(int32_t, int32_t)> continues_word_;
};

/// Divides the slots of a beam among banks, as dynamic beam allocation does (Post and Vilar 2018, section 3.2):
/// each bank gets an equal part, and the last one also the remainder. Slots for which a bank has no candidates
/// go to the bank before it. Slots that are left then go to the last banks that have more candidates.
/// `candidates`: number of candidates of each bank. Returns the number of slots of each bank.
std::vector<size_t> divide_beam(size_t slots, std::span<const size_t> candidates);

}  // namespace sixfold
