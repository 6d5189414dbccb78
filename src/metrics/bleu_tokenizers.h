#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "base/options.h"

namespace sixfold {

/// How BLEU splits a sentence into words.
///   v13a           mteval-v13a, the standard of WMT: also at ASCII punctuation, except inside numbers
///   none           only at white space, for text that is already tokenized
///   character      every character is a word, for languages without spaces, such as Chinese and Japanese
///   international  mteval-v14: also at punctuation and symbols of all scripts, by the Unicode version of ICU
///                  (newer characters count as letters)
enum class BleuTokenizer { v13a, none, character, international };

/// The names in sacreBLEU.
template <>
struct EnumNames<BleuTokenizer> {
  static constexpr std::pair<BleuTokenizer, std::string_view> names[] = {
      {BleuTokenizer::v13a, "13a"},
      {BleuTokenizer::none, "none"},
      {BleuTokenizer::character, "char"},
      {BleuTokenizer::international, "intl"}};
};

/// The words of one sentence, separated by single spaces.
std::u32string tokenize(std::u32string_view sentence, BleuTokenizer tokenizer);

}  // namespace sixfold
