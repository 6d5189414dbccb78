#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/sentence_rules.h"

namespace sixfold {

/// A paragraph as sentences and what stands between them: `spaces[0]`, `sentences[0]`, `spaces[1]`, ..., the
/// last of `spaces`, together, are the paragraph.
struct SplitParagraph {
  std::vector<std::string> sentences;  ///< without white space around them; none where there is nothing else
  std::vector<std::string> spaces;     ///< one more than sentences
};

/// Splits paragraphs where sentences end, by the rules of Unicode (UAX 29) and of a language: its abbreviations
/// ("Mr. Smith") and the like, which are our own for English and German (`SentenceRules`) and ICU's for some
/// others.
class SentenceSplitter {
 public:
  /// `language`: en, de, pt-BR, ... Throws an input error for what is no language.
  explicit SentenceSplitter(const std::string& language);

  /// Of well-formed UTF-8.
  SplitParagraph split(std::string_view paragraph) const;

 private:
  SentenceRules rules_;
  std::string locale_;
};

/// The paragraph that `sentences` make with the spaces of `split`, which has as many. Where the original has
/// none, as between Chinese sentences, a space follows what is not of East Asian width.
std::string join_sentences(const SplitParagraph& split, const std::vector<std::string>& sentences);

}  // namespace sixfold
