#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "backend/kernels.h"

namespace sixfold {

/// Guesses the next tokens of a text from its own repetitions, so that a model can verify several of them in
/// one step (speculative decoding, Leviathan et al. 2023; guesses from the text itself: prompt lookup decoding,
/// Saxena 2023). What it guesses depends only on the text and on which of its guesses were right. For one
/// thread at a time.
class RepetitionDraft {
 public:
  /// The largest number of guesses: with the token before them a model reads so few tokens in a step that their
  /// states have the bits of tokens that are read one by one.
  static constexpr int max_guesses = kernel::Attention::few_queries - 1;

  /// `limit`: maximum number of guesses, at most `max_guesses`; 0: there are none.
  explicit RepetitionDraft(int limit);

  /// Returns at most `room` tokens: those that followed the last tokens of the text at the newest earlier place
  /// where these occur. Returns none if there is no such place. Takes time linear in the length of the text.
  /// The memory is valid until the next call.
  std::span<const int32_t> guess(std::span<const int32_t> text, size_t room);
  /// Reports how many tokens of the last guess, which had some, were right: from its first one on.
  void learn(size_t right);

 private:
  size_t limit_;
  // Guesses cost time where they are wrong: after a wrong one, more of the text must repeat before the next
  // one.
  size_t count_;      // number of tokens to guess
  size_t match_ = 3;  // number of last tokens that must occur earlier
  std::vector<int32_t> guesses_;
};

}  // namespace sixfold
