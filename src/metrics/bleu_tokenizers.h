#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "base/options.h"

namespace sixfold {

/// How BLEU cuts a sentence into words.
///   v13a           mteval-v13a, the standard of WMT: ASCII punctuation, but not inside of numbers
///   none           at white space alone, for text that is already cut
///   character      every character is a word, as for Chinese, Japanese and whatever writes no spaces
///   international  mteval-v14: punctuation and symbols of all scripts, as the Unicode of the ICU library knows
///                  them (a character that is younger than it is taken for a letter)
enum class BleuTokenizer { v13a, none, character, international };

/// sacreBLEU's names.
template <>
struct EnumNames<BleuTokenizer> {
  static constexpr std::pair<BleuTokenizer, std::string_view> names[] = {
      {BleuTokenizer::v13a, "13a"},
      {BleuTokenizer::none, "none"},
      {BleuTokenizer::character, "char"},
      {BleuTokenizer::international, "intl"}};
};

/// The words of one sentence, joined by single spaces.
std::u32string tokenize(std::u32string_view sentence, BleuTokenizer tokenizer);

}  // namespace sixfold
