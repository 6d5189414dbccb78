#include "text/json/word_pattern.h"

#include <algorithm>

#include "text/json/unicode_rules.h"

namespace sixfold {
namespace {

struct KnownPattern {
  std::string_view expression;
  WordPattern pattern;
};
constexpr auto any_case = WordPattern::Contractions::any_case;
constexpr KnownPattern known_patterns[] = {
    // GPT-2
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", gpt2_pattern},
    // Llama 3
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {any_case, true, 3, true}},
    // Qwen 2 and 3
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     {any_case, true, 1, true}},
};

enum class CharacterClass : uint8_t { letter, number, space, symbol };

CharacterClass class_of(UChar32 c) {
  if (is_letter(c)) return CharacterClass::letter;
  if (is_numeric(c)) return CharacterClass::number;
  return is_white_space(c) ? CharacterClass::space : CharacterClass::symbol;
}

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

/// Finds the words one after the other.
class WordScanner {
 public:
  WordScanner(const WordPattern& pattern, std::string_view text) : pattern_(pattern), text_(text) {}

  /// The end of the word that begins at `begin`, which is not the end of the text.
  size_t end_of_word(size_t begin) const {
    if (const size_t end = end_of_contraction(begin)) return end;
    size_t after = begin;
    const UChar32 first = next_character(text_, after);
    const CharacterClass character_class = class_of(first),
                         next = after < text_.size() ? class_at(after) : CharacterClass::space;
    if (character_class == CharacterClass::letter) return end_of_run(after, CharacterClass::letter);
    const bool joins_letters = pattern_.letters_after_any_symbol
                                   ? character_class != CharacterClass::number && !is_line_end(text_[begin])
                                   : first == ' ';
    if (joins_letters && next == CharacterClass::letter) return end_of_run(after, CharacterClass::letter);
    if (character_class == CharacterClass::number) return end_of_number(begin);
    if (first == ' ' && next == CharacterClass::number && pattern_.max_digits == 0) return end_of_number(after);
    if (character_class == CharacterClass::symbol || (first == ' ' && next == CharacterClass::symbol)) {
      size_t end = end_of_run(after, CharacterClass::symbol);
      while (pattern_.line_ends && end < text_.size() && is_line_end(text_[end])) ++end;
      return end;
    }
    return end_of_space(begin);
  }

 private:
  CharacterClass class_at(size_t place) const { return class_of(next_character(text_, place)); }

  size_t end_of_run(size_t begin, CharacterClass character_class) const {
    for (size_t end = begin; begin < text_.size(); begin = end)
      if (class_of(next_character(text_, end)) != character_class) break;
    return begin;
  }

  size_t end_of_number(size_t begin) const {
    if (pattern_.max_digits == 0) return end_of_run(begin, CharacterClass::number);
    for (int i = 0;
         i < pattern_.max_digits && begin < text_.size() && class_at(begin) == CharacterClass::number; ++i)
      next_character(text_, begin);
    return begin;
  }

  /// The last space goes with the word after it. Line ends take the white space before them.
  size_t end_of_space(size_t begin) const {
    size_t end = begin, last = begin, line = begin;
    while (end < text_.size()) {
      size_t next = end;
      if (!is_white_space(next_character(text_, next))) break;
      if (is_line_end(text_[end])) line = next;
      last = end;
      end = next;
    }
    if (pattern_.line_ends && line > begin) return line;
    return end == text_.size() || last == begin ? end : last;
  }

  /// Returns 0 if there is none.
  size_t end_of_contraction(size_t begin) const {
    if (text_[begin] != '\'') return 0;
    const bool any = pattern_.contractions == any_case;
    std::string_view rest = text_.substr(begin + 1);
    if (any && rest.starts_with("\u017F")) return begin + 3;  // the long s is an s in another case
    const auto letter = [&](size_t i) {
      if (i >= rest.size()) return '\0';
      return any && rest[i] >= 'A' && rest[i] <= 'Z' ? static_cast<char>(rest[i] | 32) : rest[i];
    };
    const char a = letter(0), b = letter(1);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return begin + 2;
    return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? begin + 3 : 0;
  }

  const WordPattern& pattern_;
  std::string_view text_;
};

}  // namespace

std::vector<TextRange> WordPattern::words(std::string_view text) const {
  const WordScanner scanner(*this, text);
  std::vector<TextRange> words;
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    end = scanner.end_of_word(begin);
    words.push_back({begin, end});
  }
  return words;
}

std::optional<WordPattern> word_pattern(std::string_view expression) {
  const auto found = std::ranges::find(known_patterns, expression, &KnownPattern::expression);
  return found == std::end(known_patterns) ? std::nullopt : std::optional(found->pattern);
}

}  // namespace sixfold
