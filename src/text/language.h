#pragma once
#include <string>
#include <string_view>

namespace sixfold {

/// The language of a text, as CLD2 finds it by runs of four letters.
struct LanguageGuess {
  std::string code;   ///< "de", "zh-Hant"; empty: none was found
  int percent = 0;    ///< of the text that is in this language
  bool sure = false;  ///< whether CLD2 calls the result reliable; of a few words it seldom is
};

/// Guesses the language of most of a text, which must be valid UTF-8.
LanguageGuess guess_language(std::string_view text);

/// Whether CLD2 knows a code ("en", "pt-BR").
bool is_known_language(std::string_view code);

/// Whether two codes are of the same language, whatever their regions and scripts: "deu_Latn" is "de".
bool is_same_language(std::string_view a, std::string_view b);

}  // namespace sixfold
