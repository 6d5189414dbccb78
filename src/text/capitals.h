#pragma once
#include <string>

namespace sixfold {

/// Text in capital letters, by the rules of Unicode and of a language, such as "tr" (i becomes İ); empty: of
/// none.
std::string in_capitals(const std::string& text, const std::string& language = {});

/// Whether a text is written in capitals: it has at least two capital letters and no small letter.
bool is_in_capitals(const std::string& text);

/// Text in small letters, by the same rules. The first letter of each sentence is a capital.
std::string in_small_letters(const std::string& text, const std::string& language = {});

}  // namespace sixfold
