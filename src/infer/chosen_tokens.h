#pragma once
#include <span>
#include <string>
#include <vector>

#include "generate/sampling.h"
#include "infer/generator.h"
#include "infer/text_stream.h"
#include "text/tokenizer.h"

namespace sixfold {

/// The tokens of a text that is being generated, with what they add to it and what else was likely. For one
/// thread at a time.
class ChosenTokens final : public DrawObserver {
 public:
  /// `prompt`: the number of tokens before the text. The tokenizer must outlive it.
  ChosenTokens(const Tokenizer& tokenizer, size_t prompt);

  void see(std::span<const int32_t> before, const Answer& answer) override;
  /// The tokens that begin before a place in the text, a number of characters, and were not taken yet.
  std::span<const ChosenToken> take(int64_t characters);
  /// All tokens that begin before the end of the text.
  std::vector<ChosenToken> all(const std::string& text) const;

 private:
  const Tokenizer& tokenizer_;
  const std::vector<std::string> no_stops_;
  TextStream text_;
  int64_t characters_ = 0;  // of the text so far
  size_t taken_ = 0;
  std::vector<ChosenToken> chosen_;
};

}  // namespace sixfold
