#pragma once
#include <string>

namespace sixfold {

/// How letters become small and capital.
struct LetterCase {
  std::string language = {};  ///< whose rules hold, such as "tr" (i becomes İ); empty: those of Unicode alone
  std::string kept = {};      ///< a word that stays as it is and is no part of the text; empty: none
};

/// Text in capital letters.
std::string in_capitals(const std::string& text, const LetterCase& rules = {});

/// Whether a text is written in capitals: it has at least two capital letters and no small letter. Letters that
/// have only one form, such as those of Chinese and º, are neither.
bool is_in_capitals(const std::string& text, const LetterCase& rules = {});

/// Text in small letters. The first letter of each sentence is a capital.
std::string in_small_letters(const std::string& text, const LetterCase& rules = {});

}  // namespace sixfold
