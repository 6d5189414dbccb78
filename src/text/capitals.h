#pragma once
#include <string>

namespace sixfold {

/// How letters become small and capital.
struct LetterCase {
  std::string language = {};  ///< whose rules hold, such as "tr" (i becomes İ); empty: those of Unicode alone
  std::string kept = {};      ///< a word that stays as it is; empty: none
};

/// Text in capital letters.
std::string in_capitals(const std::string& text, const LetterCase& rules = {});

/// Whether a text is written in capitals: it has at least two capital letters, no small letter, and fewer
/// letters that have only one form, such as those of Chinese.
bool is_in_capitals(const std::string& text);

/// The only word of a text that has small letters, whose other letters are those of a text in capitals. Empty
/// if there is no such word, or if there are several.
std::string only_word_with_small_letters(const std::string& text);

/// Text in small letters. The first letter of each sentence is a capital.
std::string in_small_letters(const std::string& text, const LetterCase& rules = {});

}  // namespace sixfold
