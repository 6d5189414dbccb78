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

/// The tokens of a text that is being generated, with what they add to it and what else was likely. For one
/// thread at a time.
class ChosenTokens final : public DrawObserver {
 public:
  /// `prompt`: the number of tokens before the text, or 0 if it is told the prompt. The tokenizer must outlive
  /// it.
  ChosenTokens(const Tokenizer& tokenizer, size_t prompt);

  void see(std::span<const int32_t> before, const Answer& answer) override;
  void see_prompt(std::span<const int32_t> prompt, const Answer& answer) override;
  /// The tokens that begin before a place in the text, a number of characters after the prompt, and were not
  /// taken yet.
  std::span<const ChosenToken> take(int64_t characters);
  /// All tokens that begin before such a place.
  std::vector<ChosenToken> all(int64_t characters) const;

 private:
  /// Adds a token after those `before` it, and the likeliest ones in its place.
  void add(std::span<const int32_t> before, int32_t id, std::optional<double> log_probability,
           std::span<const int32_t> likeliest, std::span<const float> log_probs);
  bool begins_before(const ChosenToken& token, int64_t characters) const {
    return token.offset - prompt_characters_ < characters;
  }

  const Tokenizer& tokenizer_;
  const StopStrings no_stops_;
  TextStream text_;
  int64_t characters_ = 0;         // of the tokens so far
  int64_t prompt_characters_ = 0;  // of those of the prompt
  size_t taken_ = 0;
  std::vector<ChosenToken> chosen_;
};

}  // namespace sixfold
