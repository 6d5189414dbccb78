#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/sampling.h"
#include "tasks/language_model/generator.h"
#include "tasks/language_model/text_stream.h"
#include "text/tokenizer.h"

namespace sixfold {

/// Collects the tokens of a text that is being generated, with the text that each of them adds and the
/// likeliest alternatives. Not thread-safe.
class ChosenTokens final : public DrawObserver {
 public:
  /// `prompt`: the number of prompt tokens, or 0 if `see_prompt` is called. The tokenizer must outlive this
  /// object.
  ChosenTokens(const Tokenizer& tokenizer, size_t prompt);

  void see(std::span<const int32_t> before, const Answer& answer) override;
  void see_prompt(std::span<const int32_t> prompt, const Answer& answer) override;
  /// Returns the tokens, since the last call, that begin before an offset in the text: a number of characters
  /// after the prompt.
  std::span<const ChosenToken> take(int64_t characters);
  /// Returns all tokens that begin before such an offset.
  std::vector<ChosenToken> all(int64_t characters) const;

 private:
  /// Adds a token that follows the tokens `before`, and its likeliest alternatives.
  void add(std::span<const int32_t> before, int32_t id, std::optional<double> log_probability,
           std::span<const int32_t> likeliest, std::span<const float> log_probs);
  bool begins_before(const ChosenToken& token, int64_t characters) const {
    return token.offset - prompt_characters_ < characters;
  }

  const Tokenizer& tokenizer_;
  const StopStrings no_stops_;
  TextStream text_;
  int64_t characters_ = 0;         // number of characters of the tokens so far
  int64_t prompt_characters_ = 0;  // number of characters of the prompt
  size_t returned_ = 0;            // number of tokens that `take` has returned
  std::vector<ChosenToken> chosen_;
};

}  // namespace sixfold
