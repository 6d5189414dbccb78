#include "text/sentence_rules.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <optional>
#include <string>

#include "text/sentence_words.h"

namespace sixfold {
namespace {

constexpr std::u32string_view bullets = U"•‣⁃▪●";

uint32_t category(char32_t c) { return U_GET_GC_MASK(static_cast<UChar32>(c)); }
bool is_space(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)); }
bool is_letter(char32_t c) { return category(c) & U_GC_L_MASK; }
bool is_digit(char32_t c) { return c >= U'0' && c <= U'9'; }
bool is_upper(char32_t c) { return u_isupper(static_cast<UChar32>(c)); }
bool is_lower(char32_t c) { return u_islower(static_cast<UChar32>(c)); }
bool is_line_end(char32_t c) { return c == U'\n' || c == U'\r' || c == 0x85 || c == 0x2029; }
bool is_bullet(char32_t c) { return bullets.find(c) != bullets.npos; }
bool is_closing(char32_t c) {
  return c == U'"' || c == U'\'' || (category(c) & (U_GC_PE_MASK | U_GC_PF_MASK | U_GC_PI_MASK));
}
bool is_opening(char32_t c) { return is_closing(c) || (category(c) & U_GC_PS_MASK); }

bool is_number(std::u32string_view word) { return !word.empty() && std::ranges::all_of(word, is_digit); }
/// Whether it is a Roman numeral of two or more letters; "I" alone is also a word.
bool is_roman(std::u32string_view word) {
  return word.size() > 1 && word.find_first_not_of(U"IVXLC") == word.npos;
}
/// Whether it is of the form "U.S", "z.B" or "J.-P": groups of one or two letters, separated by full stops.
bool is_dotted(std::u32string_view word) {
  size_t letters = 0, stops = 0;
  for (const char32_t c : word) {
    if (c != U'.' && c != U'-' && !is_letter(c)) return false;
    letters = is_letter(c) ? letters + 1 : 0;
    stops += c == U'.';
    if (letters > 2) return false;
  }
  return stops > 0 && letters > 0;
}

/// The beginning of the run of non-space characters that ends before `end`, but not before `begin`. If a run is
/// longer than any abbreviation, the beginning of its last 100 characters is returned.
size_t token_begin(std::u32string_view text, size_t begin, size_t end) {
  constexpr size_t max_length = 100;
  if (end - begin > max_length) begin = end - max_length;
  while (end > begin && !is_space(text[end - 1])) --end;
  return end;
}

std::u32string_view letters_at(std::u32string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_letter(text[end])) ++end;
  return text.substr(at, end - at);
}

struct WordBefore {
  std::u32string word;  ///< the word before the full stop; "z. B" without its space
  bool first;           ///< whether it is the first of its sentence
  bool after_lower;     ///< whether the word before it begins in lower case
};

WordBefore word_before(std::u32string_view text, size_t begin, size_t stop) {
  size_t at = token_begin(text, begin, stop);
  std::u32string_view token = text.substr(at, stop - at);
  while (!token.empty() && !u_isalnum(static_cast<UChar32>(token[0]))) token.remove_prefix(1);
  WordBefore found{std::u32string(token), true, false};
  const bool single = token.size() == 1 && is_letter(token[0]);
  constexpr int max_initials = 8;  // limits the running time
  for (int initials = 0;; ++initials) {
    size_t end = at;
    while (end > begin && is_space(text[end - 1])) --end;
    at = token_begin(text, begin, end);
    if (at == end) return found;
    const std::u32string_view before = text.substr(at, end - at);
    if (single && initials < max_initials && before.size() == 2 && is_letter(before[0]) && before[1] == U'.') {
      found.word.insert(0, before);
      continue;
    }
    found.first = before.size() == 1 && is_bullet(before[0]);
    found.after_lower = is_lower(before[0]);
    return found;
  }
}

/// Three full stops separated by spaces are an ellipsis, after which the sentence continues. Of four, the last
/// ends the sentence.
std::optional<bool> ends_after_spaced_stops(std::u32string_view text, size_t stop) {
  size_t stops = 1;
  for (size_t at = stop; stops <= 3 && at >= 2 && text[at - 1] == U' ' && text[at - 2] == U'.'; at -= 2)
    ++stops;
  if (stops < 3) return std::nullopt;
  return stops > 3;
}

std::unordered_set<std::u32string_view> words_of(std::u32string_view list) {
  std::unordered_set<std::u32string_view> words;
  while (!list.empty()) {
    const size_t end = std::min(list.find(U' '), list.size());
    words.insert(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

/// The first character after the word at `at` and the white space that follows it; 0: there is none.
char32_t first_after_word(std::u32string_view text, size_t at) {
  while (at < text.size() && !is_space(text[at])) ++at;
  while (at < text.size() && is_space(text[at])) ++at;
  return at < text.size() ? text[at] : U'\0';
}

/// The number and notation of a list item at the beginning of a word: "12)", "3.)", "4." or "b)".
struct Marker {
  int number;
  bool letter;
  std::u32string_view sign;
  bool operator==(const Marker&) const = default;
};

std::optional<Marker> marker_at(std::u32string_view text, size_t at) {
  size_t end = at;
  int number = 0;
  const bool letter = at < text.size() && text[at] >= U'a' && text[at] <= U'z';
  if (letter) number = static_cast<int>(text[end++] - U'a');
  while (!letter && end < text.size() && end < at + 3 && is_digit(text[end]))
    number = 10 * number + static_cast<int>(text[end++] - U'0');
  size_t close = end;
  while (close < text.size() && !is_space(text[close])) ++close;
  const std::u32string_view sign = text.substr(end, close - end);
  if (end == at || (sign != U"." && sign != U")" && sign != U".)")) return std::nullopt;
  return Marker{number, letter, sign};
}

/// Whether a Japanese sentence continues here after a quotation.
bool continues_quotation(std::u32string_view rest) {
  for (const std::u32string_view other : {U"でも", U"では", U"もう", U"だから", U"だが", U"とても", U"ところ"})
    if (rest.starts_with(other)) return false;
  return !rest.empty() && std::u32string_view(U"とっをのなはがにもでやだか、，").find(rest[0]) != rest.npos;
}

}  // namespace

SentenceRules::SentenceRules(std::string_view language) : is_german_(language == "de") {
  if (language != "en" && language != "de") return;
  const sentence_words::Lists& lists = language == "en" ? sentence_words::english : sentence_words::german;
  never_last_ = words_of(lists.never_last);
  before_numbers_ = words_of(lists.before_numbers);
  maybe_last_ = words_of(lists.maybe_last);
  first_words_ = words_of(lists.first_words);
}

bool SentenceRules::ends(std::u32string_view text, size_t begin, size_t place, size_t next) const {
  size_t last = place;
  while (last > begin && is_space(text[last - 1])) --last;
  if (std::any_of(text.begin() + static_cast<std::ptrdiff_t>(last),
                  text.begin() + static_cast<std::ptrdiff_t>(place), is_line_end))
    return true;
  if (next == text.size()) return true;
  if (is_lower(text[next])) return false;
  size_t stop = last;
  while (stop > begin && is_closing(text[stop - 1])) --stop;
  if (stop == begin) return true;
  const std::u32string_view sentence = text.substr(begin, stop - begin);
  if (stop < last && text[stop] == U']' && (sentence.ends_with(U"[...") || sentence.ends_with(U"[…")))
    return false;
  if (stop < last && last == place && continues_quotation(text.substr(place))) return false;
  return text[stop - 1] != U'.' || !knows_abbreviations() || ends_after_stop(text, begin, stop - 1, next);
}

/// `stop` is the position of the full stop, `next` that of the first letter or digit after it.
bool SentenceRules::ends_after_stop(std::u32string_view text, size_t begin, size_t stop, size_t next) const {
  if (const auto ends = ends_after_spaced_stops(text, stop)) return *ends;
  const auto [word, first, after_lower] = word_before(text, begin, stop);
  if (word.empty() || word.back() == U'.') return true;  // after "..."
  const std::u32string_view last_part = std::u32string_view(word).substr(word.find_last_of(U".-/") + 1);
  const bool number_follows = is_digit(text[next]) || is_roman(letters_at(text, next));
  const bool letter = word.size() == 1 && is_letter(word[0]);
  if (first && (is_number(word) || (letter && is_lower(word[0])))) return false;  // the number of a list item
  // In German a lower-case letter can be an abbreviation too: "z. B."
  const bool initial = letter && (is_german_ || is_upper(word[0]));
  if (never_last_.contains(word) || never_last_.contains(last_part)) return false;
  if (number_follows && before_numbers_.contains(word)) return false;
  if (word == U"I" && after_lower) return true;
  const bool ordinal = is_german_ && (is_roman(word) || (is_number(word) && word.size() <= 3));
  if ((initial || ordinal) && number_follows) return false;
  if (initial || ordinal || is_dotted(word) || maybe_last_.contains(word)) return begins_sentence(text, next);
  return true;
}

bool SentenceRules::begins_sentence(std::u32string_view text, size_t next) const {
  const std::u32string_view word = letters_at(text, next);
  const size_t end = next + word.size();
  const bool initial = word.size() == 1 && end < text.size() && text[end] == U'.';
  return !initial && first_words_.contains(word);
}

std::vector<size_t> SentenceRules::list_items(std::u32string_view text) const {
  std::vector<size_t> items;
  std::optional<Marker> expected;
  bool after_first_word = false;
  for (size_t at = 0; at < text.size(); ++at) {
    if (is_space(text[at]) || (at > 0 && !is_space(text[at - 1]))) continue;
    if (is_bullet(text[at])) {
      if (after_first_word) items.push_back(at);
    } else {
      const auto marker = marker_at(text, at);
      // "1. The first 2. The second", but not "1. He came on the 2. of May", which in German has a capital.
      const bool item =
          marker && (marker->sign != U"." || (!is_german_ && is_upper(first_after_word(text, at))));
      if (item && !after_first_word && (!marker->letter || marker->number == 0)) expected = marker;
      if (item && expected && *marker == *expected) {
        if (after_first_word) items.push_back(at);
        ++expected->number;
      }
    }
    after_first_word = true;
  }
  return items;
}

size_t SentenceRules::before_opening(std::u32string_view text, size_t place) const {
  // In German, “ closes what „ opened.
  const uint32_t opening = is_german_ ? U_GC_PS_MASK : U_GC_PS_MASK | U_GC_PI_MASK;
  while (place > 0 && (category(text[place - 1]) & opening)) --place;
  return place;
}

std::vector<size_t> next_contents(std::u32string_view text) {
  std::vector<size_t> next(text.size() + 1, text.size());
  for (size_t at = text.size(); at-- > 0;)
    next[at] = is_space(text[at]) || is_opening(text[at]) ? next[at + 1] : at;
  return next;
}

std::vector<bool> within_brackets(std::u32string_view text) {
  constexpr std::u32string_view opening = U"「『（【〈《", closing = U"」』）】〉》";
  constexpr size_t max_distance = 200;
  // For each position, the number of pairs that begin there less the number of those that end there.
  std::vector<int> depth_change(text.size() + 2);
  std::vector<size_t> open;
  for (size_t at = 0; at < text.size(); ++at) {
    if (opening.find(text[at]) != opening.npos) open.push_back(at);
    const size_t kind = closing.find(text[at]);
    if (kind == closing.npos) continue;
    while (!open.empty() && text[open.back()] != opening[kind]) open.pop_back();
    if (open.empty()) continue;
    if (at - open.back() <= max_distance) ++depth_change[open.back() + 1], --depth_change[at + 1];
    open.pop_back();
  }
  std::vector<bool> within(text.size() + 1);
  int pairs = 0;
  for (size_t place = 0; place <= text.size(); ++place) within[place] = (pairs += depth_change[place]) > 0;
  return within;
}

}  // namespace sixfold
