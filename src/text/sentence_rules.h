#pragma once
#include <cstddef>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace sixfold {

/// What tells the end of a sentence beyond Unicode's rules (UAX 29), which know no words: abbreviations and
/// initials of English and German, German ordinals, quotations that a sentence goes on after, lists. Texts are
/// code points.
class SentenceRules {
 public:
  /// `language`: "en", "de" (both with lists of words) or another.
  explicit SentenceRules(std::string_view language);

  /// Whether the language's abbreviations are known here.
  bool knows_abbreviations() const { return !first_words_.empty(); }

  /// Whether the sentence that begins at `begin` ends before `place`, where UAX 29 lets it end.
  bool ends(std::u32string_view text, size_t begin, size_t place) const;

  /// Where items of a list begin though no sentence ends before them: "1) apples 2) pears", "• apples • pears".
  std::vector<size_t> list_items(std::u32string_view text) const;

  /// `place`, or where the opening brackets and quotation marks begin that stand directly before it: UAX 29
  /// takes them for closing ones.
  size_t before_opening(std::u32string_view text, size_t place) const;

 private:
  using Words = std::unordered_set<std::u32string_view>;
  bool ends_after_stop(std::u32string_view text, size_t begin, size_t stop, size_t next) const;
  bool begins_sentence(std::u32string_view text, size_t next) const;

  Words never_last_;       ///< abbreviations that go before something: "Dr", "e.g"
  Words before_numbers_;   ///< those that do so where a number follows: "No", "Fig"
  Words maybe_last_;       ///< those that end a sentence only where one of the first words follows: "Co", "etc"
  Words first_words_;      ///< with a capital they are seldom within a sentence: "The", "However"
  bool ordinals_ = false;  ///< "3." is "third"
};

/// The spans of Japanese and Chinese brackets: of each pair, the place of the opening one and that behind the
/// closing one. Only pairs so near that what is between them can stand in one sentence.
std::vector<std::pair<size_t, size_t>> bracketed(std::u32string_view text);

}  // namespace sixfold
