#include "data/pair_augmentation.h"

#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <span>

#include "base/hash.h"
#include "text/capitals.h"

namespace sixfold {
namespace {

std::string utf8_of(const std::u32string& characters) {
  std::string text;
  icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(characters.data()),
                                static_cast<int32_t>(characters.size()))
      .toUTF8String(text);
  return text;
}

std::u32string characters_of(const std::string& text) {
  const icu::UnicodeString units = icu::UnicodeString::fromUTF8(text);
  std::u32string characters;
  for (int32_t i = 0; i < units.length(); i = units.moveIndex32(i, 1))
    characters += static_cast<char32_t>(units.char32At(i));
  return characters;
}

bool is_letter(char32_t character) { return u_isalpha(static_cast<UChar32>(character)) != 0; }

}  // namespace

std::string with_typing_errors(const std::string& text, RandomStream& random) {
  constexpr double rate = 0.05;
  std::u32string characters = characters_of(text);
  std::vector<size_t> letters;
  for (size_t i = 0; i < characters.size(); ++i)
    if (is_letter(characters[i])) letters.push_back(i);
  if (letters.size() < 2) return text;
  const auto any_letter = [&] { return random.below(static_cast<uint32_t>(letters.size())); };
  std::vector<bool> chosen(characters.size(), false);
  chosen[letters[any_letter()]] = true;
  for (const size_t letter : letters)
    if (random.uniform() < rate) chosen[letter] = true;
  std::u32string result;
  for (size_t i = 0; i < characters.size(); ++i) {
    const char32_t character = characters[i];
    if (!chosen[i]) {
      result += character;
      continue;
    }
    switch (random.below(4)) {
      case 0:
        if (i + 1 < characters.size() && is_letter(characters[i + 1])) {
          result += characters[i + 1];
          characters[i + 1] = character;
          chosen[i + 1] = false;
          break;
        }
        [[fallthrough]];
      case 1:
        break;
      case 2:
        result += character;
        result += character;
        break;
      default:
        result += characters[letters[any_letter()]];
    }
  }
  return utf8_of(result);
}

std::vector<std::pair<std::string, std::string>> PairAugmentation::copies_of(const std::string& source,
                                                                             const std::string& target) const {
  std::vector<std::pair<std::string, std::string>> copies;
  if (!any()) return copies;
  const std::string pair = source + "\n" + target;
  RandomStream random(seed, hash_of(std::as_bytes(std::span(pair))));
  if (random.uniform() < capitals) copies.emplace_back(in_capitals(source), in_capitals(target));
  if (random.uniform() < noise) copies.emplace_back(with_typing_errors(source, random), target);
  return copies;
}

}  // namespace sixfold
