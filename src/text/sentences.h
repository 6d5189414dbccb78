#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "text/sentence_rules.h"

namespace sixfold {

/// A paragraph as sentences and the white space between them. The paragraph is the concatenation of
/// `spaces[0]`, `sentences[0]`, `spaces[1]`, ..., `spaces.back()`.
struct SplitParagraph {
  std::vector<std::string> sentences;  ///< without surrounding white space; empty if the paragraph is blank
  std::vector<std::string> spaces;     ///< one more than `sentences`
};

/// Splits paragraphs into sentences, by the rules of Unicode (UAX 29) and of a language, such as its
/// abbreviations (Mr. Smith). For English and German these are in `SentenceRules`; for some other languages ICU
/// has them. Any number of threads may use one splitter at once.
class SentenceSplitter {
 public:
  /// `language` is a code such as en, de or pt-BR. Throws an input error for an unknown code.
  explicit SentenceSplitter(const std::string& language);

  /// Splits well-formed UTF-8.
  SplitParagraph split(std::string_view paragraph) const;

 private:
  SentenceRules rules_;
  std::string locale_;
};

/// Joins `sentences` with the spaces of `split`, which has as many sentences. Where the original has no space,
/// as between Chinese sentences, a space is added unless the sentence before it ends with a wide East Asian
/// character. If `begins` is given, it becomes the position of each sentence in the result.
std::string join_sentences(const SplitParagraph& split, const std::vector<std::string>& sentences,
                           std::vector<size_t>* begins = nullptr);

/// The positions in well-formed UTF-8 before which a line may end, by the rules of Unicode (UAX 14): behind
/// spaces, between the characters of scripts such as Chinese, and between the words of scripts such as Thai.
std::vector<size_t> line_breaks(std::string_view text);

/// The positions in well-formed UTF-8 at which words, spaces and punctuation begin or end, by the rules of
/// Unicode (UAX 29) and, for scripts such as Chinese and Thai, by ICU's dictionaries; without 0. Takes linear
/// time.
std::vector<size_t> word_breaks(std::string_view text);

}  // namespace sixfold
