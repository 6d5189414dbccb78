#pragma once
#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sixfold {

/// Rules for the ends of sentences in addition to Unicode's (UAX 29), which do not look at words: abbreviations
/// and initials in English and German, German ordinals, quotations within a sentence, lists. Texts are code
/// points, and positions are indices of code points.
class SentenceRules {
 public:
  /// `language` is "en" or "de", which have lists of words, or another language.
  explicit SentenceRules(std::string_view language);

  /// Whether there are lists of words for the language.
  bool knows_abbreviations() const { return !first_words_.empty(); }

  /// Whether the sentence that begins at `begin` ends before `place`, a position where UAX 29 allows an end and
  /// no white space follows. `next`: `next_contents(text)[place]`.
  bool ends(std::u32string_view text, size_t begin, size_t place, size_t next) const;

  /// The positions where items of a list begin without the end of a sentence before them: "1) apples 2) pears",
  /// "• apples • pears".
  std::vector<size_t> list_items(std::u32string_view text) const;

  /// The beginning of the opening brackets and quotation marks directly before `place`, or `place` if there are
  /// none. UAX 29 treats them as closing ones.
  size_t before_opening(std::u32string_view text, size_t place) const;

 private:
  using Words = std::unordered_set<std::u32string_view>;
  bool ends_after_stop(std::u32string_view text, size_t begin, size_t stop, size_t next) const;
  bool begins_sentence(std::u32string_view text, size_t next) const;

  Words never_last_;        ///< abbreviations that never end a sentence: "Dr", "e.g"
  Words before_numbers_;    ///< abbreviations that do not end one before a number: "No", "Fig"
  Words maybe_last_;        ///< abbreviations that end one only before one of the first words: "Co", "etc"
  Words first_words_;       ///< words rarely capitalized within a sentence: "The", "However"
  bool is_german_ = false;  ///< "3." then means "third", and quotes open „so“
};

/// For each position, the end included, the first position from there on whose character is neither white space
/// nor an opening bracket or quotation mark.
std::vector<size_t> next_contents(std::u32string_view text);

/// For each position, the end included, whether it lies between a pair of Japanese or Chinese brackets. Pairs
/// that are too far apart to be within one sentence are not included.
std::vector<bool> within_brackets(std::u32string_view text);

}  // namespace sixfold
