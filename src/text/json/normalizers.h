#pragma once
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "text/json/json_stage.h"
#include "text/read_text.h"

namespace sixfold {

/// A normalizer of a tokenizer.json: changes a text that is not empty. Safe to share between threads.
class TextNormalizer {
 public:
  virtual ~TextNormalizer() = default;
  virtual void apply(NormalizedText& text) const = 0;
  /// Whether the text before a single space between ASCII letters, and the text from this space on, can be
  /// normalized independently of each other.
  virtual bool is_local() const { return true; }
};

/// Makes the normalizer that a tokenizer.json describes: BertNormalizer, Lowercase, NFC, NFD, NFKC, NFKD, Nmt,
/// Precompiled, Prepend, Replace, Strip, StripAccents, or a Sequence of them. All take linear time. Throws an
/// input error that names the key for what is malformed or not supported.
std::unique_ptr<const TextNormalizer> make_normalizer(const JsonStage& json);

/// The matches of a pattern, {"String": TEXT} or {"Regex": EXPRESSION}, in a text, in ascending order and
/// without overlap. A table has the supported regular expressions, each with a function that finds its matches
/// in linear time.
using FindMatches = std::function<std::vector<TextRange>(std::string_view text)>;
FindMatches read_pattern(const JsonStage& json);

}  // namespace sixfold
