#pragma once
#include <string>
#include <vector>

#include "search/constraints.h"
#include "tasks/translation/translation.h"
#include "text/tokenizer.h"

namespace sixfold {

/// The maximum number of phrases that a translation can be required to contain, and of the tokens of all of
/// them together. The width of the search grows with the number of tokens.
inline constexpr size_t max_phrases = 64;
inline constexpr size_t max_phrase_tokens = 256;
/// The maximum number of tokens of a prefix, equal to the default limit for sources. The decoder processes the
/// prefix in one step, in time quadratic in its length.
inline constexpr size_t max_prefix_tokens = 1024;

/// Constraints as tokens.
struct EncodedConstraints {
  LexicalConstraints tokens;
  std::vector<std::string> phrases;  ///< the texts of `tokens.phrases`
  /// Phrases that no translation can contain: some of their text is not in the vocabulary, or the limits are
  /// exceeded.
  std::vector<std::string> impossible;

  /// Whether there is text that the translation must contain.
  bool asks_for_text() const {
    return !tokens.prefix.empty() || !tokens.phrases.empty() || !impossible.empty();
  }
};

/// Encodes constraints; the tokenizer must outlive them. White space at the end of a prefix is dropped. Throws
/// an input error that names the text if it is not valid UTF-8, has several lines or (a phrase) no visible
/// character, if the vocabulary lacks text of a prefix, if there are more than `max_phrases` banned phrases,
/// if the prefix has more than `max_prefix_tokens`, and if the prefix or a phrase contains a banned one. A
/// long text is cut in the message.
EncodedConstraints encode_constraints(const Tokenizer& tokenizer, const OutputConstraints& constraints);

}  // namespace sixfold
