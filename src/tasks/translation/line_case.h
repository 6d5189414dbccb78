#pragma once
#include <functional>
#include <optional>
#include <string>

#include "model/config.h"
#include "tasks/translation/translation.h"
#include "text/capitals.h"
#include "text/language_tokens.h"

namespace sixfold {

/// Does what `TranslateOptions::capitals` says. Not thread-safe.
class LineCase {
 public:
  /// `sources`: the tokenizer of the sources, which must outlive this object.
  LineCase(const ModelConfig& config, const Tokenizer& sources, const TranslateOptions& options);

  /// What is translated in place of a line, and how the translation is written in capitals.
  struct SmallLine {
    std::string text;
    LetterCase target;
  };
  /// The line in small letters, behind the token of its language, if it is in capitals and the option is set.
  std::optional<SmallLine> source_in_small_letters(const std::string& line);
  /// A translation that was given for such a line in small letters, if it is in capitals.
  std::string target_in_small_letters(const std::string& text) const;

 private:
  bool is_on_;
  std::string source_, target_;  // languages
  std::function<std::string()> kept_word_;
  const Tokenizer& tokenizer_;
  std::optional<LanguageTokens> tokens_;  // set when a line first may begin with one
};

}  // namespace sixfold
