#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sixfold {

/// A language of a text, detected by CLD2 from sequences of four letters.
struct LanguageShare {
  std::string code;      ///< "de", "zh-Hant"
  int percent = 0;       ///< the part of the text that is in this language
  double score = 0;      ///< CLD2's score, by which the languages of one text can be compared
  bool is_hint = false;  ///< whether it is the language that was given as a hint
};

struct LanguageShares {
  std::vector<LanguageShare> languages;  ///< at most three, that of most of the text first
  bool sure = false;  ///< whether CLD2 calls the result reliable; of a few words it seldom is
};

/// Detects the languages of a text. Control characters and invalid UTF-8 count as spaces. `hint`: the code of
/// the language that the text probably has; CLD2 then detects it in most short texts of the same script.
/// `few_words`: give a best guess for a text that is too short for a reliable result.
LanguageShares find_languages(std::string_view text, const std::string& hint = "", bool few_words = false);

/// Whether CLD2 knows a code ("en", "pt-BR").
bool is_known_language(std::string_view code);

/// Whether two codes are of the same language, whatever their regions and scripts: "deu_Latn" is "de".
bool is_same_language(std::string_view a, std::string_view b);
/// Whether texts of two languages can be told apart: not if they are the same, nor those of Bosnian, Croatian
/// and Serbian.
bool is_told_apart(std::string_view a, std::string_view b);
/// Whether two languages can't be told apart, or are so much alike that many single sentences belong to both:
/// Norwegian and Danish.
bool is_like_language(std::string_view a, std::string_view b);

}  // namespace sixfold
