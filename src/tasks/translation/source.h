#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "tasks/translation/translation.h"
#include "text/language_tokens.h"
#include "text/pair_layout.h"
#include "text/tokenizer.h"

namespace sixfold {

/// The encoder input of a line.
struct EncodedLine {
  std::vector<int32_t> ids;  ///< with the tokens around it; none for a line without visible characters
  size_t tokens = 0;         ///< number of tokens of the text itself
  size_t tokens_cut = 0;     ///< number of tokens removed from its end because of the limit

  /// Logs a warning if tokens were cut. `place` names the line: "line 7".
  void warn(const std::string& place) const;
};

/// Encodes lines that are to be translated into a language. Safe to share between threads.
class SourceEncoder {
 public:
  /// `language`: the target language, such as "deu", whose token >>deu<< is put before each line; empty: no
  /// token is added. Throws an input error that lists the languages if the model does not have this one.
  /// `directions`: `TranslationSettings::directions`. If there are any, each line needs a token, and must begin
  /// with one if `language` is empty. The tokenizer must outlive the encoder.
  SourceEncoder(const Tokenizer& tokenizer, PairLayout layout, const std::string& language,
                const std::vector<std::string>& directions = {});

  /// Keeps at most `max_tokens` tokens, not counting those around the text. Throws an input error for a line
  /// that lacks the token of its target language. `place` names the line: "line 7".
  EncodedLine encode(const std::string& line, int max_tokens, const std::string& place) const;
  /// The number of bytes to which the first `tokens` tokens of a text belong. The text is valid UTF-8, and that
  /// of a line without the token of its language.
  size_t bytes_of(const std::string& text, size_t tokens) const;
  /// The number of tokens at the start and at the end of each line that belong to no word of it.
  size_t prefix() const { return layout_.source_start.size() + (language_token_.empty() ? 0 : 1); }
  size_t suffix() const { return layout_.source_end_size(); }
  const PairLayout& layout() const { return layout_; }
  /// Whether each line must begin with the token of its target language.
  bool needs_target_token() const { return tokens_ && language_token_.empty(); }
  /// Whether the target language of a line is known.
  bool has_target(const std::string& line) const {
    return !needs_target_token() || !tokens_->split(line).token.empty();
  }
  /// The text of a line, without the token of its target language.
  std::string text_of(const std::string& line) const {
    return needs_target_token() ? std::string(tokens_->split(line).text) : line;
  }

 private:
  const Tokenizer& tokenizer_;
  PairLayout layout_;
  std::string language_token_;
  std::string directions_;                // for messages
  std::vector<std::string> targets_;      // the tokens of the target languages of the directions
  std::optional<LanguageTokens> tokens_;  // set if there are directions
};

/// The encoder of a model for the languages in `options`. Throws an input error if the model does not have
/// them.
SourceEncoder source_encoder(const ModelConfig& config, const Tokenizer& tokenizer,
                             const TranslateOptions& options);

}  // namespace sixfold
