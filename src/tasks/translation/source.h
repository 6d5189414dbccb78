#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace sixfold {

/// A line as the encoder reads it.
struct EncodedLine {
  std::vector<int32_t> ids;  ///< with the end token; none for a line without visible characters
  size_t tokens_cut = 0;     ///< number of tokens removed from its end because of the limit

  /// Logs a warning if tokens were cut. `place` names the line: "line 7".
  void warn(const std::string& place) const;
};

/// Encodes lines that are to be translated into a language. Safe to share between threads.
class SourceEncoder {
 public:
  /// `language`: "deu" puts the token >>deu<< before each line; empty: no token is put there. Throws an input
  /// error that lists the languages if the model does not have this one. The tokenizer must outlive the
  /// encoder.
  SourceEncoder(const Tokenizer& tokenizer, const std::string& language);

  /// At most `longest` tokens are kept, not counting the end token.
  EncodedLine encode(const std::string& line, int longest) const;
  /// The number of tokens at the start of each line that belong to no word of it.
  int prefix() const { return language_token_.empty() ? 0 : 1; }

 private:
  const Tokenizer& tokenizer_;
  std::string language_token_;
};

}  // namespace sixfold
