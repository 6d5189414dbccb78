#pragma once
#include <string>
#include <vector>

#include "search/constraints.h"
#include "tasks/translation/translation.h"
#include "text/tokenizer.h"

namespace sixfold {

/// The most phrases, and the most tokens of all of them, that the translation of a sentence can be made to
/// contain: the width of the search grows with the tokens.
inline constexpr size_t most_phrases = 64;
inline constexpr size_t most_phrase_tokens = 256;
/// The most tokens of a prefix, as many as of a source by default: it is read in one step, in time that grows
/// with their square.
inline constexpr size_t most_prefix_tokens = 1024;

/// Constraints as tokens.
struct EncodedConstraints {
  LexicalConstraints tokens;
  std::vector<std::string> phrases;  ///< the texts of `tokens.phrases`
  /// Phrases that can't be met: their text is not in the vocabulary, or the phrases before them reach the
  /// limits.
  std::vector<std::string> impossible;

  /// Whether a translation has to contain something.
  bool asks_for_text() const {
    return !tokens.prefix.empty() || !tokens.phrases.empty() || !impossible.empty();
  }
};

/// Encodes constraints; the tokenizer must outlive them. White space at the end of a prefix is dropped. Throws
/// an input error that names the text if it is not valid UTF-8, has several lines or (a phrase) no visible
/// character, if the vocabulary lacks text of a prefix, if there are more than `most_phrases` banned phrases,
/// if the prefix has more than `most_prefix_tokens`, and if the prefix or a phrase contains a banned one. A
/// long text is cut in the message.
EncodedConstraints encode_constraints(const Tokenizer& tokenizer, const OutputConstraints& constraints);

}  // namespace sixfold
